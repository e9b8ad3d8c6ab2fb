# Options of written Parquet files: encodings, bloom filters, pages, parts left out.
q() { "$@"; echo "exit $?"; }
src="$DATA/glove_20k.parquet"
grebe convert "$src" plain.parquet --columns rank,word --rows 0:5000 -q
grebe convert "$src" all.parquet --columns rank,word --rows 0:5000 --column-encoding rank=byte_stream_split --column-encoding word=delta_byte_array --bloom word --bloom-rate 0.001 --page-rows 1000 --data-page-version 2 --compression gzip:9 --leave-out statistics,checksums -q
grebe scan plain.parquet --format csv > a.csv
grebe scan all.parquet --format csv > b.csv
cmp a.csv b.csv && echo same
grebe inspect all.parquet --format json | grep -oE '"(BYTE_STREAM_SPLIT|DELTA_BYTE_ARRAY)"' | sort -u
grebe create t --from "$src" --group rank,word --group vector --bloom word --column-encoding plain --page-bytes 32KiB -q
grebe count t
q grebe convert "$src" x.parquet --column-encoding word=delta_binary_packed
q grebe convert "$src" x.parquet --column-encoding nothing=plain
q grebe convert "$src" x.parquet --column-encoding word=fast
q grebe convert "$src" x.parquet --bloom nothing
q grebe convert "$src" x.parquet --bloom word --bloom-rate 1
q grebe convert "$src" x.parquet --data-page-version 3
q grebe convert "$src" x.parquet --leave-out header
q grebe convert "$src" x.parquet --compression gzip:99
q grebe create u --from "$src" --bloom nothing
ls
