# Any source into one file, and the anatomy of a Parquet file.
q() { "$@"; echo "exit $?"; }
for form in parquet arrows csv json jsonl; do
    grebe convert "$DATA/glove_20k.parquet" words.$form --columns rank,word,vector --where "rank < 3" -q
done
cat words.csv
cut -c1-60 words.jsonl
grebe head words.parquet --columns rank,word
grebe head words.arrows --columns rank,word --format jsonl
grebe create t --from words.parquet -q
grebe convert t@1 again.parquet --columns word
q grebe convert words.parquet words.xyz
q grebe convert missing.parquet x.csv
q grebe convert words.parquet nofolder/x.csv
q grebe convert words.parquet x.csv --columns nothing
ls
grebe inspect again.parquet | sed -E 's/[0-9]+/N/g'
grebe inspect again.parquet --format json | head -c 20; echo
q grebe inspect words.csv
q grebe inspect words.arrows
q grebe inspect t
q grebe convert words.parquet z.csv --compression zstd
q grebe convert words.parquet z.csv --bloom word
q grebe convert words.parquet z.csv.zst -q
