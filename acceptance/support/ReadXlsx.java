// Reads the XLSX files in this folder with Apache POI. Prints a line of JSON for each: the file, the reader and the rows.
// Missing values are left out of rows.
// Usage: java -Dlog4j2.StatusLogger.level=OFF -cp 'poi/*' ReadXlsx.java
import com.google.gson.Gson;
import java.io.File;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.poi.ss.usermodel.Cell;
import org.apache.poi.ss.usermodel.DateUtil;
import org.apache.poi.ss.usermodel.WorkbookFactory;

class ReadXlsx {
  static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.SSS'Z'");

  static Object valueOf(Cell cell) {
    return switch (cell.getCellType()) {
      case STRING -> cell.getStringCellValue();
      case BOOLEAN -> cell.getBooleanCellValue();
      case NUMERIC -> DateUtil.isCellDateFormatted(cell)
        ? cell.getLocalDateTimeCellValue().format(TIME)
        : cell.getNumericCellValue();
      default -> null;
    };
  }

  static List<Map<String, Object>> read(File file) throws Exception {
    try (var workbook = WorkbookFactory.create(file, null, true)) {
      var rows = new ArrayList<Map<String, Object>>();
      var sheet = workbook.getSheetAt(0);
      var names = sheet.getRow(0);
      for (var i = 1; i <= sheet.getLastRowNum(); i++) {
        var row = new LinkedHashMap<String, Object>();
        for (var cell : sheet.getRow(i)) row.put(names.getCell(cell.getColumnIndex()).getStringCellValue(), valueOf(cell));
        rows.add(row);
      }
      return rows;
    }
  }

  public static void main(String[] arguments) {
    var out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    for (var file : new File(".").listFiles((folder, name) -> name.endsWith(".xlsx"))) {
      var result = new LinkedHashMap<String, Object>(Map.of("file", file.getName(), "reader", "poi", "rows", List.of()));
      try {
        result.put("rows", read(file));
      } catch (Exception error) {
        result.put("error", error.toString());
      }
      out.println(new Gson().toJson(result));
    }
  }
}
