# SPDX-License-Identifier: Apache-2.0
"""map and filter in several processes: each computes parts, which are cache files; a worker that dies ends the whole at once, and
the parts that were finished are found by the next attempt."""

import contextlib
import glob
import multiprocessing
import multiprocessing.connection
import os
import pickle
import secrets
import shutil
import tempfile


def _work(core, call, is_filter, options, parts, pipe):
    try:
        for part in parts:
            def progress(phase, done, total, part=part):
                pipe.send(("progress", part, done))
            core.map(call, is_filter, {**options, "part": part, "progress": progress})
            pipe.send(("part", part, None))
        pipe.send(("end", None, None))
    except BaseException as e:
        try:
            pickle.loads(pickle.dumps(e))
        except Exception:
            notes, e = getattr(e, "__notes__", ()), RuntimeError(f"{type(e).__name__}: {e}")
            for note in list(notes):
                e.add_note(note)
        pipe.send(("error", e, None))
        os._exit(1)
    os._exit(0)


def _stop(workers, folder):
    """Ends those that still run; of what they were writing nothing is left."""
    for worker, pipe in workers:
        if worker.is_alive():
            worker.kill()
    for worker, pipe in workers:
        worker.join()
        pipe.close()
        if worker.exitcode != 0 and folder is not None:
            for path in glob.glob(os.path.join(glob.escape(folder), f".tmp-{worker.pid}-*")):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)


def _watch(workers, progress, n_rows):
    """Until all are done; raises what a worker raised."""
    done, open_pipes, ended = {}, {pipe: worker for worker, pipe in workers}, set()
    while open_pipes:
        for pipe in multiprocessing.connection.wait(list(open_pipes)):
            try:
                kind, what, more = pipe.recv()
            except (EOFError, ConnectionResetError):
                worker = open_pipes.pop(pipe)
                worker.join()
                if pipe not in ended:  # an exit code of 0 is no word that the work is done
                    raise RuntimeError(f"a worker of map died (exit code {worker.exitcode}): its part is not done; the parts that were "
                                       "finished are found by the next attempt")
                continue
            if kind == "error":
                raise what  # its notes came with it
            if kind == "end":
                ended.add(pipe)
            if kind == "progress" and progress is not None:
                done[what] = more
                progress("map", sum(done.values()), n_rows)


def run_parts(core, call, is_filter, options, n_parts):
    """The mapped data set, its parts computed by processes."""
    options = dict(options, n_parts=n_parts)
    if options["new_fingerprint"] is None and options.get("function_id") is None:
        options["new_fingerprint"] = secrets.token_hex(8)
    folder = None
    if options["cache_file"] is None and not core.info()["files"]:
        # no file to stand beside: parts live in a folder of the session
        base = next((os.environ[v] for v in ("TMPDIR", "TEMP", "TMP") if os.environ.get(v)), None)
        if base is not None:
            os.makedirs(base, exist_ok=True)
        folder = tempfile.mkdtemp(prefix="hf_datasets-", dir=base)
        options["cache_file"] = os.path.join(folder, "cache-map.arrow")
    options["keep_in_memory"] = False
    is_done = [False] * n_parts if options["ignore_cache"] else core.map_plan(is_filter, options)
    options["n_parts"] = len(is_done)
    missing = [i for i, done in enumerate(is_done) if not done]
    n_workers = min(n_parts, len(missing))
    context = multiprocessing.get_context("fork")
    workers = []
    progress, options["progress"] = options.get("progress"), None
    try:
        for w in range(n_workers):
            here, there = context.Pipe(duplex=False)
            worker = context.Process(target=_work, args=(core, call, is_filter, options, missing[w::n_workers], there), daemon=False)
            worker.start()
            there.close()
            workers.append((worker, here))
        _watch(workers, progress, core.num_rows)
    except BaseException:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)  # of no name that another attempt would come to
        raise
    finally:
        _stop(workers, os.path.dirname(options["cache_file"] or core.info()["files"][0]))
    out = core.map(call, is_filter, {**options, "part": -1, "ignore_cache": False})
    if folder is not None:
        # mapped files stay readable without their names
        shutil.rmtree(folder, ignore_errors=True)
    return out
