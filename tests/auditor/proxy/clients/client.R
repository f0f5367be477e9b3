# What R's DBI sees through RPostgreSQL: Rscript client.R PORT PASSWORD CERTIFICATE
# That driver writes the server's message on stderr, and gives R a warning and NULL.
given <- commandArgs(trailingOnly = TRUE)
Sys.setenv(PGSSLMODE = "verify-full", PGSSLROOTCERT = given[3])
connection <- DBI::dbConnect(RPostgreSQL::PostgreSQL(), host = "localhost", port = as.integer(given[1]),
                             dbname = "staff", user = "ana", password = given[2])
ask <- function(sql) suppressWarnings(DBI::dbGetQuery(connection, sql))
say <- function(...) cat(..., "\n", sep = " ")

rows <- ask("SELECT dept, COUNT(*) AS n, NULL AS nothing, 'é' AS letter, 1.5 AS part,
             DATE '2020-02-29' AS day FROM staff GROUP BY dept ORDER BY dept")
say("rows", rows$dept, sum(rows$n), all(is.na(rows$nothing)), rows$letter[1], rows$part[1], format(rows$day[1]))
say("tables", DBI::dbListTables(connection))
say("fields", DBI::dbListFields(connection, "staff"))
for (sql in c("SELECT AVG(salary) FROM staff WHERE id = 1", "SELECT salary FROM staff")) {
  say("nothing", is.null(ask(sql)))
}
say("again", ask("SELECT COUNT(*) AS n FROM staff")$n)
invisible(DBI::dbDisconnect(connection))
