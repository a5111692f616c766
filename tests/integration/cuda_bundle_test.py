#!/usr/bin/env python3
"""`make cuda-bundle`: the folder runs where nothing else is: in an empty environment, moved, read-only, as another user, without
a GPU and under the stub of a driver; and its `run` counts, limits and orders tests as it says."""

import contextlib
import functools
import glob
import os
import pwd
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import Skipped, run_group  # noqa: E402  (before all else: it keeps Python from writing files)

OUT = os.path.abspath(os.environ.get("OUT", "build/release"))
KERNELS = os.path.join(OUT, "tests/card/kernels")  # built where nvcc is
SIZE_MAX = 55 << 20
RUN_SECONDS = 300


@functools.cache
def made():
    """A folder with the bundle that all tests copy: packing its libraries takes long."""
    folder = tempfile.TemporaryDirectory()
    programs = sorted(glob.glob(os.path.join(OUT, "tests/card/*_test")))
    programs += [KERNELS] if os.path.exists(KERNELS) else []
    objects = sorted(glob.glob(os.path.join(OUT, "tests/card/*_test.o")))
    names = [os.path.basename(path).removesuffix(".o") for path in objects]
    sources = [path for name in names for path in glob.glob(f"tests/**/{name}.c", recursive=True)]
    command = ["tools/cuda_bundle", OUT, os.path.join(folder.name, "bundle"), " ".join(sources), *programs]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder


@contextlib.contextmanager
def bundle():
    """The path of a bundle for one test, which is not beside the tree that it was made in."""
    if not os.path.exists(os.path.join(OUT, "tests/bundle/facts")):
        raise Skipped("no CUDA toolkit")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield shutil.copytree(os.path.join(made().name, "bundle"), os.path.join(folder, "bundle"))


def run(path, *arguments, code=0, variables=None, **how):
    """The lines that `run` prints in an environment that is empty but for these variables."""
    command = ["env", "-i", *(f"{name}={value}" for name, value in (variables or {}).items()), os.path.join(path, "run")]
    done = subprocess.run([*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd="/",
                          timeout=RUN_SECONDS, **how)
    assert done.returncode == code, (done.returncode, done.stdout)
    return done.stdout.splitlines()


def rows(folder, call="1"):
    with open(os.path.join(folder, f"result-{call}.tsv"), encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t") for line in file]


def has_card(path, call="1"):
    return not any("no CUDA device" in row[4] for row in rows(path, call))


def assert_without_card(folder, reason):
    """The worker starts with the bundle's libraries, and the rest is skipped for this reason."""
    verdicts = {(step, test): (verdict, what.strip()) for step, test, verdict, _, what in rows(folder)}
    for test in (("smoke", "the worker starts"), ("facts", "the libraries as the plugin opens them")):
        assert verdicts[test] == ("passed", ""), verdicts
    for test in (("facts", "facts"), ("smoke", "the worker opens the card")):
        assert verdicts[test] == ("skipped", f"skipped: {reason}"), verdicts[test]
    tests_of_kernels = {test: verdict for (step, test), verdict in verdicts.items() if step == "ops"}
    if os.path.exists(KERNELS):
        assert tests_of_kernels.pop("the tests of kernels start") == ("passed", ""), verdicts
        assert len(tests_of_kernels) > 0, verdicts
    assert all(verdict == ("skipped", f"skipped: {reason}") for verdict in tests_of_kernels.values()), tests_of_kernels


def a_bundle_is_small_and_runs_in_an_empty_environment():
    with bundle() as path:
        size = sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names)
        assert size <= SIZE_MAX, size
        lines = run(path, "1")
        passed, _, failed, _, skipped, _ = lines[-1].replace(",", "").split()
        assert int(passed) >= 1 and failed == "0", lines
        if not has_card(path):
            assert_without_card(path, rows(path)[-1][4].removeprefix("skipped: "))
            assert int(skipped) == sum(row[2] == "skipped" for row in rows(path)) >= 2, lines
        assert os.path.getsize(os.path.join(path, "log-1.txt")) > 0


def make_builds_all_programs_of_a_bundle():
    """Told that the header of all is newer, make says what it would build; it would not for a program that it forgot."""
    if not os.path.exists(os.path.join(OUT, "tests/bundle/facts")):
        raise Skipped("no CUDA toolkit")
    variables = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    command = ["make", "-n", "-W", "shared/base/status.h", "cuda-bundle"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=variables)
    folder = os.path.relpath(OUT)
    for name in ("tests/bundle/facts", "tests/bundle/library_bench", "tests/bench/cuda/cuda_bench", "sluice-worker"):
        assert f"LINK {folder}/{name}\"" in done.stdout, name


def a_bundle_that_is_read_only_runs_as_another_user():
    if os.getuid() != 0:
        raise Skipped("only root can become another user")
    with bundle() as path, tempfile.TemporaryDirectory() as temporary:
        nobody = pwd.getpwnam("nobody")
        os.chown(temporary, nobody.pw_uid, nobody.pw_gid)
        subprocess.run(["chmod", "-R", "a-w", path], check=True)
        lines = run(path, "1", variables={"TMPDIR": temporary}, user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[])
        said = "results are in "
        assert lines[0].startswith(said + temporary), lines[0]
        results = lines[0].removeprefix(said)
        assert ("smoke", "the worker starts", "passed") in [tuple(row[:3]) for row in rows(results)], rows(results)
        assert sorted(os.listdir(temporary)) == [os.path.basename(results)], "something is left behind"


def assert_bench_without_card(folder, reason):
    """What the bench does works, on the CPU; what needs a card or PyTorch is skipped, and there are no times."""
    found = {row[1]: (row[2], row[4].strip()) for row in rows(folder, "3") if row[2] != "fact"}
    for test in ("the libraries as the plugin opens them", "the bench works, on the CPU", "the networks compute, on the CPU", "steps on the CPU"):
        assert found.pop(test) == ("passed", ""), found
    for test in ("networks by PyTorch", "networks by PyTorch again", "networks by PyTorch, compiled"):
        verdict, what = found.pop(test)
        assert verdict == "skipped" and what.split(": ")[1] in ("no PyTorch", "PyTorch sees no CUDA device"), (test, what)
    assert len(found) >= 6 and set(found.values()) == {("skipped", f"skipped: {reason}")}, found
    assert not os.path.exists(os.path.join(folder, "times-3.tsv"))


def the_third_call_without_a_card_proves_the_bench_and_skips_the_rest():
    with bundle() as path, tempfile.TemporaryDirectory() as temporary:
        run(path, "facts")
        if has_card(path, "facts"):
            raise Skipped("there is a card, on which this call takes its nine minutes")
        reason = next(row[4] for row in rows(path, "facts") if row[1] == "facts").removeprefix("skipped: ").strip()
        run(path, "3")
        assert_bench_without_card(path, reason)
        if os.getuid() != 0:
            return
        nobody = pwd.getpwnam("nobody")
        os.chown(temporary, nobody.pw_uid, nobody.pw_gid)
        subprocess.run(["chmod", "-R", "a-w", path], check=True)
        lines = run(path, "3", variables={"TMPDIR": temporary}, user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[])
        assert_bench_without_card(lines[0].removeprefix("results are in "), reason)


def the_table_of_times_comes_behind_the_steps():
    with bundle() as path:
        add_tests(path, ("worker", "30", "-", "times", "printf 'time\\tnet\\tfloat32\\tbatch 1\\tSluice\\t25\\t20\\t30\\t\\n'"),
                  ("worker", "30", "-", "no times", "printf 'tiny time\\tnet\\tfloat32\\tbatch 1\\tSluice\\t99\\t20\\t30\\t\\n'"))
        lines = run(path, "worker")
        table = [line.split() for line in lines]
        assert ["net", "float32", "batch", "1", "25"] in table, lines
        with open(os.path.join(path, "times-worker.tsv"), encoding="utf-8") as file:
            assert len(file.readlines()) == 1


def results_go_where_out_says():
    with bundle() as path, tempfile.TemporaryDirectory() as results:
        run(path, "facts", variables={"OUT": results})
        written = [name for name in sorted(os.listdir(results)) if name != "card.json"]  # only a card writes that
        assert written == ["log-facts.txt", "result-facts.tsv"], written


def tests_find_the_folder_of_results():
    with bundle() as path, tempfile.TemporaryDirectory() as results:
        add_tests(path, ("facts", "30", "-", "words", 'echo found >"$RESULTS/words.txt"'))
        run(path, "facts", variables={"OUT": results})
        with open(os.path.join(results, "words.txt"), encoding="utf-8") as file:
            assert file.read() == "found\n"


def a_driver_without_a_card_is_no_failure():
    with bundle() as path, tempfile.TemporaryDirectory() as driver:
        shutil.copy(os.path.join(OUT, "tests/plugins/libcuda.so"), os.path.join(driver, "libcuda.so.1"))
        for stub, reason in (
                ({"STUB_CUDA_INIT": "100"}, "no CUDA device: the driver is here, but sees no card"),
                ({"STUB_CUDA_VERSION": "12080"}, "no CUDA device: the CUDA driver is too old: it serves CUDA 12.8, and 13.0 is "
                                                 "needed, which drivers from 580 on serve"),
                ({}, "no CUDA device: cudaGetDeviceCount() says 36, API call is not supported in the installed CUDA driver")):
            run(path, "1", variables={"LD_LIBRARY_PATH": driver, **stub})
            assert_without_card(path, reason)


def add_tests(path, *tests):
    with open(os.path.join(path, "tests.tsv"), "w", encoding="utf-8") as file:
        file.writelines("\t".join(test) + "\n" for test in tests)


def a_test_that_fails_crashes_or_hangs_ends_alone_and_comes_first_the_next_time():
    with bundle() as path:
        add_tests(path,
                  ("smoke", "30", "-", "good", "echo fine"),
                  ("smoke", "30", "-", "lacking", "echo 'skipped: no cuDNN'"),
                  ("smoke", "30", "-", "bad", "echo '[  ERROR   ] --- 1 != 2'; exit 3"),
                  ("smoke", "30", "-", "crashed", "kill -SEGV $$"),
                  ("smoke", "1", "-", "endless", "sleep 1000"),
                  ("smoke", "30", "-", "absent", "echo '[==========] Running 0 test(s).'"),
                  ("smoke", "30", "card", "on a card", "echo 'fact\tcard\tH100'"))
        lines = run(path, "1", code=1)
        found = {row[1]: (row[2], row[4].strip()) for row in rows(path)}
        assert found["good"] == ("passed", "") and found["lacking"] == ("skipped", "skipped: no cuDNN"), found
        assert found["bad"] == ("failed", "exit status 3: [  ERROR   ] --- 1 != 2"), found
        assert found["crashed"] == ("failed", "exit status 139:"), found
        assert found["endless"] == ("failed", "did not end within 1 s, or was killed"), found
        assert found["absent"] == ("failed", "the program has no such test"), found
        assert lines[-1].startswith("1 passed, 4 failed, 2 skipped") or has_card(path), lines
        run(path, "1", code=1)
        assert [row[1] for row in rows(path)][:6] == ["bad", "crashed", "endless", "absent", "good", "lacking"], rows(path)


def a_step_that_takes_too_long_lets_its_last_tests_be_skipped():
    with bundle() as path:
        with open(os.path.join(path, "steps.tsv"), "w", encoding="utf-8") as file:
            file.write("2\tslow\t1\tnothing\n")
        add_tests(path, ("slow", "30", "-", "first", "sleep 1000"), ("slow", "30", "-", "second", "echo never"))
        lines = run(path, "2", code=1)
        assert [row[1:3] + row[4:] for row in rows(path, "2")] == [
            ["first", "failed", "did not end within 1 s, or was killed"],
            ["second", "skipped", "skipped: no time left"]], rows(path, "2")
        assert lines[-1] == "0 passed, 1 failed, 1 skipped", lines


def steps_that_are_not_there_are_named():
    with bundle() as path:
        assert run(path, "2")[-2:] == ["call 2 has no steps in this bundle", "0 passed, 0 failed, 0 skipped"]
        assert run(path, "repeat", code=1)[0] == "run: there is no step 'repeat' in this bundle; there are:"
        assert run(path, "list")[0].startswith("1  facts "), run(path, "list")


if __name__ == "__main__":
    run_group([
        a_bundle_is_small_and_runs_in_an_empty_environment,
        make_builds_all_programs_of_a_bundle,
        a_bundle_that_is_read_only_runs_as_another_user,
        the_third_call_without_a_card_proves_the_bench_and_skips_the_rest,
        the_table_of_times_comes_behind_the_steps,
        results_go_where_out_says,
        tests_find_the_folder_of_results,
        a_driver_without_a_card_is_no_failure,
        a_test_that_fails_crashes_or_hangs_ends_alone_and_comes_first_the_next_time,
        a_step_that_takes_too_long_lets_its_last_tests_be_skipped,
        steps_that_are_not_there_are_named,
    ])
