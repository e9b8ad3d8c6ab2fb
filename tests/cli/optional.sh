# What comes with libraries that a build may be without: codecs, and policies by patterns of column names.
for needed in pcre2 lz4 snappy; do grebe version --build | grep -qw $needed || exit 77; done
q() { "$@"; echo "exit $?"; }
from=packed:$(ls "$GOLDEN"/parquet/milvus/column_group_*.parquet | paste -sd,)
grebe create p --from "$from" --policy schema_based --policy-patterns 'v.*, n.*|id' --file-bytes 1KiB --format json
grebe info p --format json | grep -o '"columns":[^]]*]'
q grebe create q --from "$from" --policy schema_based --policy-patterns '('
grebe convert "$from" a.parquet --columns id,name --compression lz4:9 -q
grebe convert "$from" b.parquet --columns id,name --compression snappy -q
grebe inspect a.parquet --format json | grep -o '"LZ4_RAW"' | sort -u
cmp <(grebe scan a.parquet --format csv) <(grebe scan b.parquet --format csv) && echo same
q grebe convert "$from" c.parquet --compression snappy:3
ls
