# One table in every form of output.
grebe create t --from "$DATA/glove_20k.parquet" -q
for form in table json jsonl csv; do
    grebe head t -n 2 --columns rank,word --format $form
done
grebe scan t --format arrow --columns rank > t.arrows
grebe head -n 1 t.arrows
grebe count t.arrows
grebe take t.arrows --rows 19999,3 --format csv
grebe count - < t.arrows
grebe head "$DATA/glove_20k.parquet" -n 1 --columns word --format csv
grebe count "parquet:$DATA/glove_20k.parquet"
grebe scan t | head -n 3 | cut -c1-40
