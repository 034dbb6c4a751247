#!/usr/bin/env bash
# completion.sh HLOSCOPE - asks bash's completion function what a user would be offered (TAP on stdout).
source <("$1" completion bash)
number=0 failed=0
# offers WORD... = the last word is being completed; prints the offers on one line
offers() {
  COMP_WORDS=(hloscope "$@") COMP_CWORD=$# COMPREPLY=()
  _hloscope
  echo "${COMPREPLY[*]}"
}
check() { # check NAME WANTED GOT: wanted words must be among the offers, words with ! must not
  number=$((number + 1))
  local word ok=ok
  for word in $2; do
    case $word in
      !*) [[ " $3 " == *" ${word#!} "* ]] && ok="not ok" ;;
      *) [[ " $3 " == *" $word "* ]] || ok="not ok" ;;
    esac
  done
  echo "$ok $number - $1"
  [ "$ok" = ok ] || { failed=1; echo "# wanted: $2"; echo "# got: $3"; }
}
cd "$(mktemp -d)" && touch model.hlo
echo 1..7
check "commands_are_offered" "version completion help" "$(offers '')"
check "commands_are_narrowed" "version !help" "$(offers ve)"
check "options_of_the_command_are_offered" "--format --help !--nonsense" "$(offers version --)"
check "choices_follow_an_option" "text json !csv" "$(offers version --format '')"
check "choices_follow_an_equals_sign" "json !text" "$(offers version --format = j)"
check "positional_choices_are_offered" "bash zsh fish" "$(offers completion '')"
check "files_are_offered" "model.hlo" "$(offers help mod)"
rm model.hlo && rmdir "$PWD"
exit $failed
