# Odd names, streams and files: nothing is silently lost, nothing is written where it does not belong.
q() { "$@"; echo "exit $?"; }
norms=$DATA/glove_norms.parquet

echo "-- standard streams that are closed: messages do not end in data files"
grebe create t --from "$norms" >&- 2>&-
grebe append t "$norms" -v --progress always <&- >&- 2>&-
q grebe check t --deep
grebe count t >&-; echo "exit $?"
grebe count - <&-; echo "exit $?"

echo "-- a table whose name has an @"
q grebe create -q t@1 --from "$norms"
q grebe create -q new@2 --from "$norms"
q grebe count new@2@1
q grebe count t@1@1
q grebe head t --version 0
q grebe count ""

echo "-- files that are cut or empty"
head -c 1000 "$norms" > cut.parquet
head -c 1000 "$norms" > cut
: > empty.parquet
q grebe count cut.parquet
q grebe count cut
q grebe count empty.parquet

echo "-- files of row ids and schemas that cannot be read"
mkdir folder
q grebe take t --rows-from folder
printf '1\0002\n' > zero
q grebe take t --rows-from zero
printf '3\n\n1,2' > ids
q grebe take t --rows-from ids -f csv
q grebe create s --schema folder
q grebe create s --schema missing
q grebe take t --rows 0:99999999999
q grebe take t --rows 5:9223372036854775808

echo "-- many sources, none is left out"
q grebe create -q many --from $(yes "$norms" | head -300)
q grebe count many

echo "-- names that are no text, in JSON"
q grebe count "$(printf 'no\377such')" --format json
q grebe head t --limit "$(printf 'no\377number')" --format json

echo "-- values beyond all bounds"
q grebe create -q bounds --from "$norms" --row-group-rows 9223372036854775807 --row-group-bytes 9999999T
q grebe check bounds --deep
q grebe tag bounds --delete
