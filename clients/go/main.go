// Reads every operation with the client that oapi-codegen generates.
// Usage: API_URL=… API_KEY=… ./read
package main

import (
	"bytes"
	"context"
	"log"
	"net/http"
	"os"

	"field-data-client/client"
)

type response interface{ StatusCode() int }

// read returns a response that is successful.
func read[R response](found R, err error) R {
	check(err == nil, "the request fails: %v", err)
	check(found.StatusCode() == 200, "the status is %d", found.StatusCode())
	return found
}

func check(isTrue bool, message string, values ...any) {
	if !isTrue {
		log.Fatalf(message, values...)
	}
}

func main() {
	ctx := context.Background()
	authorize := client.WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("API_KEY"))
		return nil
	})
	api, err := client.NewClientWithResponses(os.Getenv("API_URL"), authorize)
	check(err == nil, "there is no client: %v", err)

	check(read(api.GetLiveWithResponse(ctx)).JSON200.Data.Status == "live", "the service is not live")
	check(read(api.GetReadyWithResponse(ctx)).JSON200.Data.Status == "ready", "the service is not ready")
	check(read(api.GetMeWithResponse(ctx)).JSON200.Data.Limits.PerPage == 1000, "the limits of the key are not known")

	perPage, ascending := 10, client.Asc
	dispatches := read(api.ListDispatchesWithResponse(ctx, &client.ListDispatchesParams{PerPage: &perPage, SortOrder: &ascending}))
	dispatch := read(api.GetDispatchWithResponse(ctx, dispatches.JSON200.Data[0].Id, nil)).JSON200.Data
	check(dispatch.Status == "paused" && dispatch.DispatchType == "voice", "words that are not known are lost")
	expand := []client.EntryExpansion{client.EntryExpansionDispatch, client.EntryExpansionForm}
	embedded := read(api.ListEntriesWithResponse(ctx, &client.ListEntriesParams{Expand: &expand})).JSON200.Data[0].Dispatch
	entryDispatch, err := embedded.AsEntryDispatch()
	check(err == nil && entryDispatch.Status == "paused", "a record that is embedded has no type")
	projects := read(api.ListProjectsWithResponse(ctx, nil))
	read(api.GetProjectWithResponse(ctx, projects.JSON200.Data[0].Id, nil))
	fields := []client.FormField{client.FormFieldName}
	forms := read(api.ListFormsWithResponse(ctx, &client.ListFormsParams{Fields: &fields}))
	check(forms.JSON200.Data[0].Status == "", "a record has more than its chosen fields")
	form := forms.JSON200.Data[0].Id
	read(api.GetFormWithResponse(ctx, form, nil))
	question := read(api.GetFormQuestionsWithResponse(ctx, form, nil)).JSON200.Data[0]
	by, answered := []string{"status"}, []string{question.Key, question.Key + "=" + question.Choices[0].Answer}
	counts := read(api.SummarizeEntriesWithResponse(ctx, &client.SummarizeEntriesParams{By: &by, Form: &form, Answered: &answered}))
	check(counts.JSON200.UnderscoreMetadata.Total == question.Choices[0].Count, "the entries with an answer are not counted")
	table := read(api.SummarizeEntriesAsCsvWithResponse(ctx, &client.SummarizeEntriesAsCsvParams{By: &by, Form: &form}))
	check(bytes.HasPrefix(table.Body, []byte("\"status\",\"count\"")), "counts are no table")
	checks := []client.CheckName{client.CheckNameShort, client.CheckNamePlace}
	flagged := read(api.CheckEntriesWithResponse(ctx, &client.CheckEntriesParams{Checks: &checks})).JSON200.Data[0].Flags[0]
	value, err := flagged.Value.AsFlagValue0()
	check(err == nil && flagged.Check == client.EntryCheckShort && value > 0, "a flagged entry is not read")
	share := read(api.CheckAgentsWithResponse(ctx, &client.CheckAgentsParams{Checks: &checks})).JSON200.Data[0].Flagged
	check(*share.Low > 0, "an agent has no share")
	entriesTable := read(api.CheckEntriesAsCsvWithResponse(ctx, &client.CheckEntriesAsCsvParams{Checks: &checks}))
	agentsTable := read(api.CheckAgentsAsCsvWithResponse(ctx, &client.CheckAgentsAsCsvParams{Checks: &checks}))
	for _, body := range [][]byte{entriesTable.Body, agentsTable.Body} {
		check(bytes.Contains(body, []byte(",\"place")), "checks are no table")
	}
	agents := read(api.ListAgentsWithResponse(ctx, nil))
	read(api.GetAgentWithResponse(ctx, agents.JSON200.Data[0].Id, nil))
	users := read(api.ListUsersWithResponse(ctx, nil))
	read(api.GetUserWithResponse(ctx, users.JSON200.Data[0].Id, nil))
	box := []float32{2, 4, 15, 14}
	inBox := read(api.ListEntriesWithResponse(ctx, &client.ListEntriesParams{Bbox: &box}))
	check(len(inBox.JSON200.Data) > 0, "a box is not taken as numbers")

	// A whole list, page after page.
	var entries []client.EntryListItem
	many, first := 500, "*"
	for cursor := &first; cursor != nil; {
		page := read(api.ListEntriesWithResponse(ctx, &client.ListEntriesParams{Cursor: cursor, PerPage: &many})).JSON200
		entries = append(entries, page.Data...)
		cursor = page.UnderscoreMetadata.NextCursor
	}
	check(len(entries) > 1000, "a walk reads only %d entries", len(entries))
	check(entries[0].Answers[0].Type == "voiceNote", "an answer of an unknown type is lost")
	read(api.GetEntryWithResponse(ctx, entries[0].Id, nil))

	etag := users.HTTPResponse.Header.Get("ETag")
	again, err := api.ListUsersWithResponse(ctx, &client.ListUsersParams{IfNoneMatch: &etag})
	check(err == nil && again.StatusCode() == 304, "a response that is the same is sent again")

	deleted := 0
	for cursor, hasMore := first, true; hasMore; {
		page := read(api.SyncEntriesWithResponse(ctx, &client.SyncEntriesParams{Cursor: &cursor, PerPage: &many})).JSON200
		for _, change := range page.Data {
			if record, err := change.AsDeletedRecord(); err == nil && record.Deleted {
				deleted++
			}
		}
		cursor, hasMore = page.UnderscoreMetadata.NextCursor, page.UnderscoreMetadata.HasMore
	}
	check(deleted == 1, "%d deletions are read instead of one", deleted)
	read(api.SyncDispatchesWithResponse(ctx, nil))
	read(api.SyncProjectsWithResponse(ctx, nil))
	read(api.SyncFormsWithResponse(ctx, nil))
	read(api.SyncAgentsWithResponse(ctx, nil))
	read(api.SyncUsersWithResponse(ctx, nil))
	read(api.DigestDispatchesWithResponse(ctx, nil))
	read(api.DigestProjectsWithResponse(ctx, nil))
	read(api.DigestFormsWithResponse(ctx, nil))
	read(api.DigestAgentsWithResponse(ctx, nil))
	read(api.DigestUsersWithResponse(ctx, nil))
	digest := read(api.DigestEntriesWithResponse(ctx, nil)).JSON200.Data
	check(digest[0].Count == len(entries), "the digest counts %d entries instead of %d", digest[0].Count, len(entries))

	missing, err := api.GetEntryWithResponse(ctx, "none", nil)
	check(err == nil && missing.ApplicationproblemJSON404.Code == "not_found", "an error has no code")
}
