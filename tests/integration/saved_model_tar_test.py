#!/usr/bin/env python3
"""Tars of SavedModels as tar programs write them: files in any order, below any folder, with long names, with assets in
folders of their own; what cannot be read is refused in words. With weights in the gateway's memory, and without."""

import bz2
import gzip
import hashlib
import io
import lzma
import os
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402

MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../unit/gateway/expand/data/words.tar")
TAR = "application/x-tar"
STORES = ((), ("--resident-weights", "1"))
ASSET, NESTED = b"words.txt", b"w/ord.txt"  # of one length: saved_model.pb is protobuf


def _files():
    """The files in the model's archive: their paths below the model's folder, and their bytes."""
    with tarfile.open(MODEL) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}


def _tar(files, form=tarfile.USTAR_FORMAT):
    """An archive of pairs of a name and bytes, or a TarInfo without any."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=form) as tar:
        for name, content in files:
            info = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            info.size = len(content) if info.isfile() else 0
            tar.addfile(info, io.BytesIO(content))
    return archive.getvalue()


def _special(name, kind, target=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def _numbers(client, archive):
    session = client.session()
    client.graph(session, archive, TAR)
    feeds = {"word": {"dtype": "string", "shape": [3], "data": ["two", "zero", "none"]}}
    return client.step(session, {"feeds": feeds, "fetches": ["number"]})["outputs"]["number"]["data"]


def _expect_numbers(archives):
    """Each archive is the model, and also when it is stored first."""
    for settings in STORES:
        with sluice.Cluster(threads=(1,), settings=settings) as cluster:
            client = cluster.client()
            for what, archive in archives:
                assert _numbers(client, archive) == [2, 0, -1], (settings, what)
                reference = client.send("PUT", f"/blobs/{hashlib.sha256(archive).hexdigest()}", archive, "application/octet-stream")
                client.graph(client.session(), {"source": {"ref": reference["ref"]}, "format": "saved_model"})


def files_come_in_any_order_and_below_any_folder():
    files = _files()
    names = sorted(files)
    long = "/".join(["a-folder-of-some-length"] * 6)  # 143 bytes: a prefix and a name in ustar
    longer = "b" * 120  # has no place in ustar
    _expect_numbers([
        ("sorted", _tar([(name, files[name]) for name in names])),
        ("reversed", _tar([(name, files[name]) for name in reversed(names)])),
        ("a dot", _tar([(f"./{name}", files[name]) for name in names])),
        ("a folder", _tar([(_special("m", tarfile.DIRTYPE), b"")] + [(f"m/{name}", files[name]) for name in names])),
        ("a prefix", _tar([(f"{long}/{name}", files[name]) for name in names])),
        ("GNU's long names", _tar([(f"{longer}/{name}", files[name]) for name in names], tarfile.GNU_FORMAT)),
        ("pax", _tar([(f"{longer}/{name}", files[name]) for name in names], tarfile.PAX_FORMAT)),
        ("pax beyond ASCII", _tar([(f"m\u00fcller/{name}", files[name]) for name in names], tarfile.PAX_FORMAT))])


def assets_lie_in_folders_of_their_own():
    files = _files()
    assert files["saved_model.pb"].count(b"\x12\x09" + ASSET) == 1  # AssetFileDef.filename
    files["saved_model.pb"] = files["saved_model.pb"].replace(b"\x12\x09" + ASSET, b"\x12\x09" + NESTED)
    files[f"assets/{NESTED.decode()}"] = files.pop("assets/words.txt")
    files["assets/other/w/ord.txt"] = b"zero\n"  # ends in the same name
    _expect_numbers([(form, _tar([(f"m/{name}", files[name]) for name in order], form))
                     for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT) for order in (sorted(files), sorted(files, reverse=True))])


def files_that_only_look_like_the_models_are_left_alone():
    """Keras and TensorFlow Serving keep more beside a model, also other models."""
    files = _files()
    extra = {"assets/saved_model.pb": b"no model", "assets/variables.index": b"no index",
             "assets.extra/variables/variables.index": b"no index", "assets.extra/saved_model.pb": b"no model",
             "assets/variables.tensors": b"none", "keras_metadata.pb": b"none"}
    _expect_numbers([("behind", _tar([*files.items(), *extra.items()])), ("before", _tar([*extra.items(), *files.items()]))])


def _refusal(client, archive):
    try:
        client.graph(client.session(), archive, TAR)
    except sluice.Refused as refused:
        return refused.status, refused.detail
    raise AssertionError("was not refused")


def what_cannot_be_read_is_refused_in_words():
    files = _files()
    whole = _tar(files.items())
    sparse = tarfile.TarInfo("variables/variables.data-00000-of-00001")
    sparse.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "4096"}
    for settings in STORES:
        with sluice.Cluster(threads=(1,), settings=settings) as cluster:
            client = cluster.client()
            for archive, text in (
                    (gzip.compress(whole), "the archive is compressed with gzip: send it unpacked"),
                    (bz2.compress(whole), "the archive is compressed with bzip2: send it unpacked"),
                    (lzma.compress(whole), "the archive is compressed with xz: send it unpacked"),
                    (b"\x28\xb5\x2f\xfd" + whole, "the archive is compressed with zstd: send it unpacked"),
                    (b"PK\x03\x04" + whole, "the archive is a zip file: send a tar"),
                    (_tar([*files.items(), (_special("variables/more", tarfile.SYMTYPE, "/data/more"), b"")]),
                     "'variables/more' is a link: make the archive with 'tar --dereference --hard-dereference'"),
                    (_tar([*files.items(), (_special("assets/again", tarfile.LNKTYPE, "assets/words.txt"), b"")]),
                     "'assets/again' is a link"),
                    (_tar([(_special("variables/variables.data-00000-of-00001", tarfile.GNUTYPE_SPARSE), b"")]),
                     "'variables/variables.data-00000-of-00001' is a sparse file: make the archive without --sparse"),
                    (_tar([(sparse, b"")], tarfile.PAX_FORMAT), "is a sparse file"),
                    (_tar([(_special("saved_model.pb", b"M"), b"")]), "'saved_model.pb' goes on from another volume"),
                    (_tar([(f"{folder}/{name}", content) for folder in "ab" for name, content in files.items()]),
                     "the archive has two models, 'a/saved_model.pb' and 'b/saved_model.pb'"),
                    (_tar([("model.pb", b"")]), "the archive has no saved_model.pb; is it a SavedModel?"),
                    (whole[:3000], "the archive is damaged"),
                    (b"x" * 2048, "the bytes are no tar archive")):
                status, detail = _refusal(client, archive)
                assert status == 400 and text in detail, (settings, text, status, detail)


if __name__ == "__main__":
    run_group([globals()[n] for n in sys.argv[1:]] or [
        files_come_in_any_order_and_below_any_folder,
        assets_lie_in_folders_of_their_own,
        files_that_only_look_like_the_models_are_left_alone,
        what_cannot_be_read_is_refused_in_words,
    ])
