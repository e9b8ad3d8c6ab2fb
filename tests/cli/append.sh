# Appended rows fit by name; ids count on.
cat > schema.json <<'JSON'
{"fields":[{"name":"norm","type":"double","nullable":true},{"name":"note","type":"string","nullable":true}]}
JSON
grebe create t --schema schema.json
grebe count t
grebe head t
grebe append t "$DATA/glove_norms.parquet" "$DATA/glove_norms.parquet" --message twice
grebe count t
grebe take t --rows 0,20000,39999
grebe log t
grebe info t
grebe check t --deep
