"""Errors in hybrid runs, dense output and sweeps, and the tests that notice them."""

from tests.mutants import Mutant

HYBRID, RUNS, DENSE = "dynsim.hybrid", "dynsim.hybrid_trajectory", "dynsim.dense_output"
SWEEPS, POINTS, PARTS = "dynsim.sweeps", "dynsim.sweep_points", "dynsim.parts"
TRANSITIONS = "tests/test_hybrid.py::test_"
DWELL = (TRANSITIONS + "a_dwell_time_separates_transitions_and_a_condition_that_holds_then_counts_at_once",)
HELD = (TRANSITIONS + "conditions_that_hold_have_the_sign_after_their_crossing",)
FILLED = (TRANSITIONS + "times_are_filled_up_where_they_are_far_apart_and_taken_out_again",)
MERGED = (TRANSITIONS + "particles_merge_and_the_dimension_falls",)
BALL = ("tests/test_dense_output.py::test_a_bouncing_ball_has_its_closed_form_and_two_states_at_each_bounce",)
AT_ONCE = ("tests/test_dense_output.py::test_a_run_without_phases_has_the_states_of_its_transitions",)
SWEEP = "tests/test_sweeps.py::test_"
DIGEST = (SWEEP + "a_digest_tells_functions_points_and_parts_apart",)
GRID = (SWEEP + "a_grid_becomes_a_dataset_with_names_and_units",)
SEEDS = (SWEEP + "a_list_of_points_and_seeds_with_common_random_numbers",)
FAILED = (SWEEP + "a_point_that_fails_says_why_and_the_others_stay",)
RESUMED = (SWEEP + "a_sweep_that_resumes_evaluates_what_is_missing_in_its_place",)
SIZES = (SWEEP + "parts_are_many_and_not_too_large",)
KEPT = (SWEEP + "an_interrupted_sweep_says_what_is_kept",)
REFUSED = (SWEEP + "what_cannot_be_swept_is_refused_in_one_sentence",)
PROGRAM = (SWEEP + "one_program_gives_what_a_loop_gives",)

MUTANTS = (
    Mutant("runs: a dwell time holds for the first phase too", HYBRID,
           "float(dwell) if jumps else 0.0", "float(dwell)", tests=DWELL),
    Mutant("runs: conditions are not looked at after the dwell time", HYBRID,
           "y, begin = waited.final, end",
           "y, begin = waited.final, end; rules = [r for r in rules if not r.immediate]",
           tests=DWELL),
    Mutant("runs: a condition of a falling guard holds above it", HYBRID,
           "return value * guard.direction > 0 if guard.direction else value > 0", "return value > 0", tests=HELD),
    Mutant("runs: a condition holds on the guard itself", HYBRID,
           "return value * guard.direction > 0 if guard.direction else value > 0",
           "return value * guard.direction >= 0 if guard.direction else value >= 0", tests=HELD),
    Mutant("runs: times are filled up where they are close", HYBRID,
           "widest = int(np.argmax(np.diff(times)))", "widest = int(np.argmin(np.diff(times)))", tests=FILLED),
    Mutant("runs: the cap counts one transition more", HYBRID,
           "if len(jumps) == most:", "if len(jumps) > most:", tests=MERGED),
    Mutant("runs: of several transitions the first state counts", DENSE,
           "return here[0].before if before else here[-1].after", "return here[0].before if before else here[0].after",
           tests=AT_ONCE),
    Mutant("runs: the state at a transition is the one before it", DENSE,
           "return here[0].before if before else here[-1].after", "return here[0].before", tests=BALL),
    Mutant("runs: a digest leaves out defaults", POINTS,
           "(*(thing.__defaults__ or ()), *(", "((), *(", tests=DIGEST),
    Mutant("runs: a digest leaves out defaults by name", POINTS,
           "*(thing.__kwdefaults__ or {}).values())", ")", tests=DIGEST),
    Mutant("runs: a digest leaves out what a function closes over", POINTS,
           "[*defaults, *cells]", "[*defaults]", tests=DIGEST),
    Mutant("runs: a digest has arrays as they are printed", POINTS,
           "repr(leaf.shape).encode() + leaf.tobytes()", "repr(leaf).encode()", tests=DIGEST),
    Mutant("runs: a digest leaves out the points", POINTS,
           "given = (versions(), points.values, points.seeds,", "given = (versions(), points.seeds,", tests=DIGEST),
    Mutant("runs: a digest leaves out the seeds", POINTS,
           "given = (versions(), points.values, points.seeds, list(points.dims.items())",
           "given = (versions(), points.values",
           tests=DIGEST),
    Mutant("runs: a digest leaves out the division into parts", POINTS,
           "size, vectorised)\n    found", "vectorised)\n    found", tests=DIGEST),
    Mutant("runs: a digest leaves out arguments by name", POINTS,
           "*itertools.chain(*sorted(thing.keywords.items()))", "*()", tests=DIGEST),
    Mutant("runs: seeds are outermost", POINTS,
           "pairs = list(itertools.product(values, given))",
           "pairs = [(v, s) for s in given for v in values]", tests=SEEDS),
    Mutant("runs: every seed has the first key", SWEEPS,
           'key = {} if seed is None else {"key": stream(seed, "sweep")}',
           'key = {} if seed is None else {"key": stream(0, "sweep")}', tests=SEEDS),
    Mutant("runs: a value that is not finite is no failure", SWEEPS,
           "said[k] = said[k] or NOT_FINITE", "said[k] = said[k]", tests=FAILED),
    Mutant("runs: failures are ok", SWEEPS,
           'np.where(causes == "", "ok", "failed")', 'np.where(causes == "", "ok", "ok")', tests=FAILED),
    Mutant("runs: parts are padded at the front", SWEEPS,
           "np.asarray(a)[: len(seeds)], made", "np.asarray(a)[-len(seeds) :], made", tests=PROGRAM),
    Mutant("runs: units are left out", SWEEPS,
           'made[name].attrs["units"] = unit', 'made[name].attrs["unit"] = unit', tests=GRID),
    Mutant("runs: parts are joined as they finish", PARTS,
           "return [done[index] for index in range(len(sizes))]", "return [*done.values()][::-1]", tests=FAILED),
    Mutant("workbench sweeps: parts that are kept are not read", PARTS,
           "filter(checkpoints.has, range(len(sizes)))", "filter(checkpoints.has, range(0))", tests=RESUMED),
    Mutant("workbench sweeps: parts that are kept are evaluated again", PARTS,
           "[k for k in range(len(sizes)) if k not in done]", "[*range(len(sizes))]", tests=RESUMED),
    Mutant("workbench sweeps: parts are not kept", PARTS,
           "write(checkpoints, index, part)", "pass", tests=RESUMED),
    Mutant("workbench sweeps: a part is read in the place of the next one", PARTS,
           "done[index] = read(checkpoints, index)", "done[index] = read(checkpoints, 0)", tests=RESUMED),
    Mutant("workbench sweeps: all points are said to be kept", PARTS,
           "sum(sizes[k] for k in done)", "sum(sizes)", tests=KEPT),
    Mutant("workbench sweeps: parts of other sweeps are taken", SWEEPS,
           "            checkpoints.check()\n", "", tests=RESUMED),
    Mutant("workbench sweeps: a cause is that of the point before", SWEEPS,
           "np.concatenate([arrays[\"cause\"] for arrays in found])",
           "np.roll(np.concatenate([arrays[\"cause\"] for arrays in found]), 1)", tests=FAILED),
    Mutant("workbench sweeps: the values of a part are those of the first", SWEEPS,
           "whole[part] = arrays[label]", "whole[part] = found[0][label]", tests=FAILED),
    Mutant("workbench sweeps: there are as many parts as points", SWEEPS,
           "max(1, min(points // PARTS, MOST))", "1", tests=SIZES),
    Mutant("workbench sweeps: parts have any size", SWEEPS,
           "max(1, min(points // PARTS, MOST))", "max(1, points // PARTS)", tests=SIZES),
    Mutant("workbench sweeps: parts are larger than the sweep", SWEEPS,
           'min(integer("chunk", chunk, least=1), points)', 'integer("chunk", chunk, least=1)', tests=SIZES),
    Mutant("workbench sweeps: units of what does not exist are left out", SWEEPS,
           "    if unknown:\n", "    if False:\n", tests=REFUSED),
    Mutant("workbench sweeps: a result may hide a parameter", SWEEPS,
           "    if clash:\n", "    if False:\n", tests=REFUSED),
    Mutant("runs: a method is told without its object", POINTS,
           "return [], [thing.__func__, *_fields(thing.__self__)]", "return [], [thing.__func__]", tests=DIGEST),
    Mutant("runs: a compiled function is told without what it wraps", POINTS,
           "return [], [thing.__wrapped__]", "return [], []", tests=DIGEST),
    Mutant("runs: fields of a callable object tell nothing apart", POINTS,
           "return own, [type(thing).__call__, *_fields(thing)]", "return own, [type(thing).__call__]", tests=DIGEST),
    Mutant("runs: a system is told by its class alone", POINTS,
           "if dataclasses.is_dataclass(thing):", "if False:",
           tests=("tests/test_sweep_command.py::test_systems_with_the_same_parameters_are_told_apart",)),
    Mutant("runs: what holds itself is looked into for ever", POINTS,
           "elif id(thing) not in inside:", "else:", tests=DIGEST),
    Mutant("runs: a file may differ on a worker", "dynsim.commands.sweep",
           "(not file.is_file() or _digest(file) != digest)", "not file.is_file()",
           tests=("tests/test_sweep_command.py::test_the_function_of_a_command_is_built_again_from_the_same_file_only",)),
)  # fmt: skip
