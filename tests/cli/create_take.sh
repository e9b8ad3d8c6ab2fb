# The main job: create, add a column, take, versions.
grebe create words --from "$DATA/glove_20k.parquet" --group word,rank --group vector
ls words words/_data | grep -v UUID | sort
before=$(cd words/_data && sha256sum * )
grebe add-column words "$DATA/glove_norms.parquet" --message "vector norms"
after=$(cd words/_data && sha256sum $(echo "$before" | cut -c67-))
[ "$before" = "$after" ] && echo "no file has changed"
grebe take words --rows 9,0,9,19999
grebe take words --rows 9,0,9,4 --columns word,norm --format jsonl
grebe take words --rows 3:5 --columns norm,word --with-row-id --format csv
printf '7\n8 1\n' | grebe take words --rows-from - --columns word --format csv
grebe count words
grebe count words@1
grebe log words
grebe schema words@1
grebe schema words --format json
