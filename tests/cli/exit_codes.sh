# Each kind of failure has its exit code and one line that says where.
q() { "$@"; echo "exit $?"; }
grebe create t --from "$DATA/glove_norms.parquet" -q
q grebe create t --from "$DATA/glove_norms.parquet"
q grebe head missing
q grebe head t@7
q grebe head t@nosuchtag
q grebe take t --rows 20000
q grebe take t --rows -1
q grebe take t --rows 9223372036854775807
q grebe take t --rows 9223372036854775808
q grebe take t --rows 1,x
q grebe head t --columns nrom
q grebe head t --columns norm,norm
q grebe head t --colums norm
q grebe haed t
q grebe head
q grebe info t t
q grebe head t --limit minus
q grebe scan t --rows 5:3
q grebe append t "$DATA/glove_20k.parquet"
q grebe add-column t "$DATA/glove_norms.parquet"
q grebe drop-column t nothing
q grebe rename-column t norm norm
q grebe create s3://bucket/t --from "$DATA/glove_norms.parquet"
q grebe head s3://bucket/t
q grebe create x --from "$DATA/glove_norms.parquet" --file-format vortex
q grebe create x
echo hello > text
q grebe head text
: > empty
q grebe head empty
mkdir folder
q grebe head folder
head -c 1000 "$DATA/glove_norms.parquet" > cut.parquet
q grebe head parquet:cut.parquet
q grebe head t --version 9 --format json
q grebe take t --rows 20000 --format jsonl
ls
