# What R's RODBC lists, and what dbplyr's summarise is answered: Rscript frames.R PORT PASSWORD
given <- commandArgs(trailingOnly = TRUE)
say <- function(...) cat(..., "\n", sep = " ")

place <- paste0("Driver=PostgreSQL Unicode;Server=127.0.0.1;Port=", given[1], ";Database=staff;Uid=ana;Pwd=", given[2])
odbc <- RODBC::odbcDriverConnect(place)
say("tables", sort(RODBC::sqlTables(odbc)$TABLE_NAME))
say("columns", RODBC::sqlColumns(odbc, "staff")$COLUMN_NAME)
grouped <- RODBC::sqlQuery(odbc, "SELECT dept, AVG(salary) AS a FROM staff WHERE age > 25 GROUP BY dept ORDER BY dept")
say("grouped", as.character(grouped$dept), grouped$a)
say("refusal", grep("Hint: ", RODBC::sqlQuery(odbc, "SELECT AVG(salary) FROM staff WHERE id = 3"))[1])
RODBC::odbcClose(odbc)

library(dplyr, warn.conflicts = FALSE)
connection <- DBI::dbConnect(RPostgreSQL::PostgreSQL(), host = "127.0.0.1", port = as.integer(given[1]),
                             dbname = "staff", user = "ana", password = given[2])
staff <- tbl(connection, "staff")
say("names", colnames(staff))
summed <- staff |> filter(age > 25) |> group_by(dept) |> summarise(n = n(), a = mean(salary, na.rm = TRUE)) |>
  arrange(dept) |> collect()
say("summarised", summed$dept, summed$n, summed$a)
joined <- staff |> inner_join(tbl(connection, "department"), by = "dept") |> filter(age > 25) |> group_by(title) |>
  summarise(a = mean(salary, na.rm = TRUE)) |> arrange(title) |> collect()
say("joined", joined$title, joined$a)
invisible(DBI::dbDisconnect(connection))
