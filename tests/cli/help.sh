# Every verb has help, and the man pages are well-formed enough for a pager.
grebe help
grebe take --help
for verb in $(grebe help | sed -n '/^verbs$/,/^$/s/^  \([a-z-]*\) .*/\1/p'); do
    grebe help "$verb" --man | head -n 3 | tail -n 1
done
grebe completions bash | bash -n && echo "completions parse"
grebe completions csh; echo "exit $?"
