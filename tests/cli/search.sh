# The nearest rows of a table, exactly and through an index; indexes listed, replaced and dropped.
q() { "$@"; echo "exit $?"; }
grebe create words --from "$DATA/glove_20k.parquet" --group word,rank --group vector -q
grebe take words --rows 5,100,777 --columns vector --format arrow >queries.arrows
near() { grebe search words --column vector --query-from queries.arrows -k 3 --columns word --format csv "$@" | cut -d, -f1,2,4; }
near --metric angular >exact
cat exact
grebe index build words --column vector --metric angular --kind hnsw -q
near --param ef=200 >indexed
cmp exact indexed && echo same
grebe index list words --format csv | cut -d, -f1-4
near --where 'rank < 20'
near --where 'rank < 20' --exact --metric angular
grebe index build words --column vector --metric angular quant=sq8 -q
near >indexed && cmp exact indexed && echo same
grebe index list words --format csv | cut -d, -f1-4
grebe search words --column vector --query-from queries.arrows -k 2 --version 2 --columns word --format jsonl | head -n 1 | sed 's/"_distance":[^,]*,//'
q grebe search words --column vector --vector 1,2,3
q grebe search words --column vector --vector '[1, x]'
for v in '[1,2' '[1,2]]' 1,2, '[1,,2]' '[0x1]' '[nan]' '[]' '1 2'; do grebe search words --column vector --vector "$v" 2>&1 | head -n 1; done
q grebe search words --column vector --vector ' [1, 1e-40 ] '
q grebe search words --column vector
q grebe search words --vector 1
q grebe search words --column word --vector 1
q grebe search words --column vectors --vector 1
q grebe search words --column vector --query-from queries.arrows --param effort=1
echo "metrics: the index's, and others by every row"
near --exact | tail -n 2
near --metric angular | tail -n 2
near --metric euclidean | tail -n 2
near --metric l2 --exact | tail -n 2
q grebe index build words --column vector quantum=1 -q
q grebe index drop words --column vector -q
q grebe index drop words --column vector -q
grebe index list words --format csv
