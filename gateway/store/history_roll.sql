-- $1 days ahead, $2 days kept
select roll_step_history($1, $2)
