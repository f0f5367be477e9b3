// What pgjdbc sees: java -cp postgresql.jar Client.java PORT PASSWORD CERTIFICATE
import java.sql.*;
import java.util.Properties;
import org.postgresql.util.PSQLException;

public class Client {
    static final String SLOW = "SELECT COUNT(*) FROM staff a, staff b, staff c, staff d, staff e, staff f "
        + "WHERE a.id * b.id + c.id * d.id > e.id * f.id";

    static void fails(Connection connection, String sql) {
        try (Statement statement = connection.createStatement()) {
            statement.executeQuery(sql);
            System.out.println("answered");
        } catch (SQLException error) {
            var said = ((PSQLException) error).getServerErrorMessage();
            System.out.println(error.getSQLState() + " " + said.getDetail() + " " + (error.getMessage().split("Hint: ").length == 2 ? "hint" : ""));
        }
    }

    public static void main(String[] given) throws Exception {
        Properties with = new Properties();
        with.put("user", "ana");
        with.put("password", given[1]);
        with.put("sslmode", "verify-full");
        with.put("sslrootcert", given[2]);
        try (Connection connection = DriverManager.getConnection("jdbc:postgresql://localhost:" + given[0] + "/staff", with)) {
            DatabaseMetaData data = connection.getMetaData();
            ResultSet rows = data.getTables(null, null, "%", new String[] {"TABLE", "VIEW"});
            while (rows.next()) System.out.println("table " + rows.getString("TABLE_SCHEM") + "." + rows.getString("TABLE_NAME"));
            rows = data.getColumns(null, "public", "staff", "%");
            while (rows.next()) System.out.println("column " + rows.getString("COLUMN_NAME") + " " + rows.getString("TYPE_NAME"));
            // The driver prepares at the server from the fifth time on.
            for (int time = 0; time < 7; time++) {
                String sql = "SELECT COUNT(*), ?::text, NULL FROM staff WHERE age >= ? AND dept = ?";
                try (PreparedStatement statement = connection.prepareStatement(sql)) {
                    statement.setString(1, "é");
                    statement.setInt(2, 40);
                    if (time == 6) statement.setNull(3, Types.VARCHAR); else statement.setString(3, "a");
                    rows = statement.executeQuery();
                    rows.next();
                    if (time > 4) System.out.println("count " + rows.getLong(1) + " " + rows.getString(2) + " " + rows.getString(3));
                }
            }
            fails(connection, "SELECT AVG(salary) FROM staff WHERE id = 3");
            fails(connection, "SELECT salary FROM staff");
            connection.setAutoCommit(false);
            try (Statement statement = connection.createStatement()) {
                statement.setFetchSize(7);
                rows = statement.executeQuery("SELECT id FROM staff");
                int count = 0;
                while (rows.next()) count++;
                System.out.println("fetched " + count);
            }
            connection.commit();
            connection.setAutoCommit(true);
            try (Statement statement = connection.createStatement()) {
                statement.setQueryTimeout(1);
                statement.executeQuery(SLOW);
            } catch (SQLException error) {
                System.out.println(error.getSQLState());
            }
            System.out.println("valid " + connection.isValid(5));
        }
    }
}
