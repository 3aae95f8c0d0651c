# Reads the XLSX files in this folder with packages of R. Prints a line of JSON for each: the file, the reader and the rows.
# Missing values are left out of rows.
library(jsonlite)

readers <- list(
  # By default it guesses the type of a column by its first 1,000 rows, takes white space off texts, and names columns anew.
  readxl = function(file)
    readxl::read_excel(file, guess_max = 1e6, trim_ws = FALSE, .name_repair = "minimal"),
  # It does not see by the format of a cell that it is a time.
  openxlsx = function(file) {
    table <- openxlsx::read.xlsx(file, sep.names = " ", na.strings = character())
    times <- grepl("(At|lastLogin)$", names(table)) & vapply(table, is.numeric, TRUE)
    table[times] <- lapply(table[times], openxlsx::convertToDateTime, tz = "UTC")
    table
  }
)

plain <- function(column) {
  if (!inherits(column, "POSIXt")) return(column)
  format(column + 0.0005, "%Y-%m-%dT%H:%M:%OS3Z", tz = "UTC")
}

for (file in list.files(pattern = "[.]xlsx$")) {
  for (reader in names(readers)) {
    result <- list(file = unbox(file), reader = unbox(reader), rows = list())
    tryCatch({
      table <- as.data.frame(readers[[reader]](file), optional = TRUE)
      table[] <- lapply(table, plain)
      result$rows <- table
    }, error = function(error) result$error <<- unbox(conditionMessage(error)))
    cat(toJSON(result, digits = I(15)), "\n", sep = "")
  }
}
