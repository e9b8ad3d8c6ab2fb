# SPDX-License-Identifier: Apache-2.0
"""What people who come from `datasets` type: names, arguments, and what is said where a habit leads astray."""
import json

import pyarrow as pa
import pytest

import grebe
import grebe.dataset as gd


@pytest.fixture
def folder(tmp_path):
    for split, n in (("train", 40), ("test", 10)):
        (tmp_path / "set" / split).mkdir(parents=True)
        rows = [json.dumps({"text": f"{split} {i}", "label": i % 3, "at": {"x": i}}) + "\n" for i in range(n)]
        (tmp_path / "set" / split / "a.jsonl").write_text("".join(rows))
    return tmp_path / "set"


@pytest.fixture
def splits(folder, tmp_path):
    return gd.load_dataset(folder, cache_dir=tmp_path / "cache")


def test_names_of_splits_and_modes(folder, tmp_path, splits):
    assert gd.Split.TRAIN == "train" == str(gd.Split.TRAIN) and splits[gd.Split.TEST].split == gd.Split.TEST
    assert gd.get_dataset_split_names(folder) == ["train", "test"]
    part = gd.ReadInstruction("train", to=10, unit="%") + gd.ReadInstruction("test", from_=-5)
    assert part.to_spec() == "train[:10%]+test[-5:]"
    hundredth = gd.ReadInstruction("train", from_=1, to=2, unit="%", rounding="pct1_dropremainder")
    assert str(hundredth) == "train[1%:2%](pct1_dropremainder)"
    cache = tmp_path / "cache"
    assert gd.load(folder, split=part, cache_dir=cache)["text"][-1] == "test 9"
    assert len(gd.load(folder, split=gd.Split.TEST, cache_dir=cache)) == 10
    again = gd.load(folder, download_mode=gd.DownloadMode.FORCE_REDOWNLOAD, verification_mode=gd.VerificationMode.NO_CHECKS,
                    cache_dir=cache)
    assert again.num_rows == {"train": 40, "test": 10}
    with pytest.raises(ValueError, match="unit"):
        gd.ReadInstruction("train", to=1, unit="rows")


def test_info_has_members(splits):
    ds = splits["train"]
    assert ds.info.features == ds.features and ds.info["features"]["label"] == {"dtype": "int64", "_type": "Value"}
    assert ds.builder_name == "json" == ds.info.builder_name and ds.dataset_size == ds.info["dataset_size"] > 0
    assert gd.Dataset.from_dict({"a": [1]}).config_name is None
    with pytest.raises(AttributeError, match="nope"):
        ds.info.nope


def test_features_and_arrow_schemas(splits):
    features = splits["train"].cast_column("label", gd.ClassLabel(names=["a", "b", "c"])).features
    assert features["label"].dtype == "int64"
    assert features.arrow_schema.field("label").type == pa.int64()
    assert gd.Features.from_arrow_schema(features.arrow_schema) == features
    assert gd.Features.from_arrow_schema(pa.schema({"n": pa.int8()})) == {"n": gd.Value("int8")}
    assert list(features.flatten()) == ["text", "label", "at.x"]


def test_saved_folders_by_class(splits, tmp_path):
    splits.save_to_disk(tmp_path / "saved")
    assert len(gd.Dataset.load_from_disk(tmp_path / "saved" / "train")) == 40
    assert list(gd.DatasetDict.load_from_disk(tmp_path / "saved")) == ["train", "test"]
    with pytest.raises(FileNotFoundError, match="DatasetDict"):
        gd.Dataset.load_from_disk(tmp_path / "saved")


def test_streams_from_and_into_memory(folder, splits):
    stream = gd.IterableDataset.from_json(str(folder / "train" / "a.jsonl"))
    ds = splits["train"]
    assert stream.num_columns == 3 and stream.to_list() == ds.to_list() and stream.to_dict() == ds.to_dict()
    assert stream.skip(38).to_dataset()[:] == ds[38:] and stream.to_pandas().equals(ds.to_pandas())
    assert [len(frame) for frame in stream.to_pandas(batch_size=30, batched=True)] == [30, 10]
    assert stream.to_polars().equals(ds.to_polars())
    assert stream.filter(lambda row: False).to_dict() == {"text": [], "label": [], "at": []}
    for made in (gd.IterableDataset.from_dict({"a": [1, 2, 3]}, num_shards=3),
                 gd.IterableDataset.from_list([{"a": n} for n in (1, 2, 3)]),
                 gd.IterableDataset.from_pandas(ds.select(range(3)).map({"a": "label + 1"}).select_columns("a")
                                             .to_pandas())):
        assert list(made["a"]) == [1, 2, 3]
    state = stream.state_dict()
    stream.load_state_dict(state_dict=state)
    assert next(iter(gd.IterableDataset.from_file(ds.cache_files[0]["filename"]))) == ds[0]


def test_dicts_from_files(folder, tmp_path):
    files = {"a": str(folder / "train" / "a.jsonl"), "b": str(folder / "test" / "a.jsonl")}
    assert gd.DatasetDict.from_json(files, cache_dir=tmp_path / "cache").num_rows == {"a": 40, "b": 10}
    assert gd.load(folder, streaming=True).num_columns == {"train": 3, "test": 3}


def test_what_leads_astray_is_told(folder, splits, tmp_path):
    with pytest.raises(KeyError, match=r"rows are those of a split: data\['train'\]"):
        splits[0]
    with pytest.raises(TypeError, match="mask of truth values"):
        splits["train"][[True, False]]
    with pytest.raises(grebe.InvalidArgument, match="a file: expected a folder, or a format"):
        gd.load(folder / "train" / "a.jsonl")
    with pytest.raises(grebe.NotFound, match="no such folder or format"):
        gd.load("jsonl", data_files=str(folder / "train" / "a.jsonl"), cache_dir=tmp_path / "cache")


def test_json_in_ascii(tmp_path):
    ds = gd.Dataset.from_dict({"a": ["é"]})
    ds.to_json(tmp_path / "plain", force_ascii=False)
    ds.to_json(tmp_path / "ascii", force_ascii=True)
    assert (tmp_path / "plain").read_text() == '{"a":"é"}\n' and (tmp_path / "ascii").read_text() == '{"a":"\\u00e9"}\n'
