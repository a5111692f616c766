#!/usr/bin/env python3
"""What the programs of tests/loads promise for any machine, in their shortest form: memory is bounded, nothing is lost. Times are
measured there too, and asserted nowhere."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../support"))
sys.path.insert(0, os.path.join(HERE, "../loads"))
from group import run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import fairness  # noqa: E402
import lookups  # noqa: E402
import measures  # noqa: E402
import models  # noqa: E402
import slow_readers  # noqa: E402


def _keep_promises(load):
    report = measures.Report()
    load.run(report, "minute")
    assert any(row.is_sure for row in report.rows), "the load promises nothing"
    assert not report.unreached(), "; ".join(str(row) for row in report.unreached())


def readers_that_do_not_read_cost_little_memory_and_large_answers_arrive_whole():
    _keep_promises(slow_readers)


def lookups_that_find_nothing_are_all_answered():
    _keep_promises(lookups)


def tenants_share_device_time_by_weight_however_their_steps_come_and_whatever_they_cost():
    _keep_promises(fairness)


def a_model_is_pushed_resumed_run_and_deleted_within_bounds_of_memory():
    _keep_promises(models)


if __name__ == "__main__":
    run_group([globals()[name] for name in sys.argv[1:]] or [
        tenants_share_device_time_by_weight_however_their_steps_come_and_whatever_they_cost,
        readers_that_do_not_read_cost_little_memory_and_large_answers_arrive_whole,
        lookups_that_find_nothing_are_all_answered,
        a_model_is_pushed_resumed_run_and_deleted_within_bounds_of_memory,
    ])
