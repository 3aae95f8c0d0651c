// Reads every operation with the client that openapi-generator generates.
// Usage: API_URL=… API_KEY=… java -cp 'dist/java/classes:dist/java/dependency/*' Read
import java.math.BigDecimal;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.*;
import org.openapitools.client.model.*;

public class Read {
  static void check(boolean isTrue, String what) {
    if (!isTrue) throw new AssertionError(what);
  }

  public static void main(String[] arguments) throws Exception {
    var api = new ApiClient();
    api.setBasePath(System.getenv("API_URL"));
    api.setBearerToken(System.getenv("API_KEY"));

    var health = new HealthApi(api);
    check(health.getLive().execute().getData().getStatus().equals("live"), "the service is live");
    check(health.getReady().execute().getData().getStatus().equals("ready"), "the service is ready");
    check(new KeyApi(api).getMe().execute().getData().getLimits().getPerPage() == 1000, "the limits of the key are known");

    var dispatches = new DispatchesApi(api);
    var id = dispatches.listDispatches().perPage(10).sortOrder(SortDirection.ASC).execute().getData().get(0).getId();
    var dispatch = dispatches.getDispatch(id).execute().getData();
    check(dispatch.getStatus().equals("paused") && dispatch.getDispatchType().equals("voice"), "unknown words are read");
    var projects = new ProjectsApi(api);
    projects.getProject(projects.listProjects().execute().getData().get(0).getId()).execute();
    var agents = new AgentsApi(api);
    agents.getAgent(agents.listAgents().execute().getData().get(0).getId()).execute();
    var users = new UsersApi(api);
    users.getUser(users.listUsers().execute().getData().get(0).getId()).execute();
    var forms = new FormsApi(api);
    var form = forms.listForms().perPage(1).execute().getData().get(0).getId();
    forms.getForm(form).execute();
    var question = forms.getFormQuestions(form).execute().getData().get(0);

    var entriesApi = new EntriesApi(api);
    var choice = question.getChoices().get(0);
    var answered = List.of(question.getKey(), question.getKey() + "=" + choice.getAnswer());
    var counts = entriesApi.summarizeEntries().by(Set.of("status")).form(form).answered(answered).execute();
    check(counts.getMetadata().getTotal().equals(choice.getCount()), "the entries with an answer are counted");
    var table = Files.readString(entriesApi.summarizeEntriesAsCsv().by(Set.of("status")).form(form).execute().toPath());
    check(table.startsWith("\"status\",\"count\""), "counts are a table");
    var box = List.of(2, 4, 15, 14).stream().map(BigDecimal::valueOf).toList();
    check(!entriesApi.listEntries().bbox(box).execute().getData().isEmpty(), "a box is numbers");
    var expand = List.of(EntryExpansion.DISPATCH, EntryExpansion.FORM);
    var embedded = entriesApi.listEntries().expand(expand).execute().getData().get(0).getDispatch();
    check(embedded.getActualInstance() instanceof EntryDispatch, "a record that is embedded has its type");

    var checksApi = new ChecksApi(api);
    var checks = Set.of(CheckName.SHORT, CheckName.PLACE);
    var flag = checksApi.checkEntries().checks(checks).execute().getData().get(0).getFlags().get(0);
    check(flag.getValue().getActualInstance() instanceof BigDecimal, "a flagged entry is read");
    var flagged = checksApi.checkAgents().checks(checks).execute().getData().get(0).getFlagged();
    check(flagged.getLow().signum() > 0, "an agent has its share");
    var tables = List.of(checksApi.checkEntriesAsCsv().checks(checks).execute(), checksApi.checkAgentsAsCsv().checks(checks).execute());
    for (var file : tables) check(Files.readString(file.toPath()).contains(",\"place"), "checks are a table");

    // A whole list, page after page.
    var entries = new ArrayList<EntryListItem>();
    for (var cursor = "*"; cursor != null; ) {
      var page = entriesApi.listEntries().cursor(cursor).perPage(500).execute();
      entries.addAll(page.getData());
      cursor = page.getMetadata().getNextCursor();
    }
    var ids = new HashSet<>(entries.stream().map(EntryListItem::getId).toList());
    check(ids.size() > 1000, "a walk reads every entry");
    check(entries.get(0).getAnswers().get(0).getType().equals("voiceNote"), "an answer of an unknown type is read");
    entriesApi.getEntry(entries.get(0).getId()).execute();

    var sync = new SyncApi(api);
    var deleted = 0;
    for (var feed = sync.syncEntries().perPage(500).execute(); ; ) {
      for (var change : feed.getData()) if (change.getActualInstance() instanceof DeletedRecord) deleted++;
      if (!feed.getMetadata().getHasMore()) break;
      feed = sync.syncEntries().cursor(feed.getMetadata().getNextCursor()).perPage(500).execute();
    }
    check(deleted == 1, "a deletion is read");
    sync.syncDispatches().execute();
    sync.syncProjects().execute();
    sync.syncForms().execute();
    sync.syncAgents().execute();
    sync.syncUsers().execute();
    sync.digestDispatches().execute();
    sync.digestProjects().execute();
    sync.digestForms().execute();
    sync.digestAgents().execute();
    sync.digestUsers().execute();
    var digest = sync.digestEntries().execute().getData();
    check(digest.get(0).getCount() == entries.size(), "the digest counts the entries");

    try {
      entriesApi.getEntry("none").execute();
      check(false, "an error is thrown");
    } catch (ApiException error) {
      check(Problem.fromJson(error.getResponseBody()).getCode().equals("not_found"), "an error has its code");
    }
    // The client's threads would keep the program for a minute.
    System.exit(0);
  }
}
