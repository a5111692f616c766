/* Every .sql file prepares against the migrated schema, so that a renamed column fails here by name. */
#include "gateway/store/statement.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/database.h"

static void
every_statement_prepares(void **state)
{
    Database *database = *state;
    assert_true(sql_table_count > 0);
    for (size_t index = 0; index < sql_table_count; index++) {
        const Statement *statement = sql_table[index];
        assert_int_equal(statement->index, index);
        PGresult *result = PQprepare(database->admin, statement->name, statement->text, 0, NULL);
        if (PQresultStatus(result) != PGRES_COMMAND_OK) {
            fail_msg("%s.sql: %s", statement->name, PQresultErrorMessage(result));
        }
        PQclear(result);
        PGresult *description = PQdescribePrepared(database->admin, statement->name);
        assert_int_equal(PQnparams(description), statement->parameter_count);
        PQclear(description);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_statement_prepares, database_setup, database_teardown),
    };
    return cmocka_run_group_tests_name("sql", tests, NULL, NULL);
}
