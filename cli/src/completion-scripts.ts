// Each script passes the words up to the cursor to the hidden command `__complete`, which prints one candidate per line
// with a tab before its description, or the line `:files` for the name of a file.

const bash = String.raw`# Completion of pennyblack for bash.
_pennyblack() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    if [ "$line" = ":files" ]; then
      compopt -o default 2>/dev/null
    else
      COMPREPLY+=("${"$"}{line%%$'\t'*}")
    fi
  done < <(pennyblack __complete -- "${"$"}{COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _pennyblack pennyblack`;

const zsh = String.raw`#compdef pennyblack
# Completion of pennyblack for zsh.
_pennyblack() {
  local line
  local -a candidates
  for line in "${"$"}{(@f)$(pennyblack __complete -- "${"$"}{(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $line in
      '') ;;
      :files) _files; return ;;
      *) candidates+=("${"$"}{${"$"}{line%%$'\t'*}//:/\\:}:${"$"}{line#*$'\t'}") ;;
    esac
  done
  (( $#candidates )) && _describe pennyblack candidates
}
if [ "$funcstack[1]" = "_pennyblack" ]; then
  _pennyblack "$@"
else
  compdef _pennyblack pennyblack
fi`;

const fish = String.raw`# Completion of pennyblack for fish.
function __pennyblack_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -e words[1]
  for line in (pennyblack __complete -- $words "$current" 2>/dev/null)
    if test "$line" = ":files"
      __fish_complete_path "$current"
    else
      printf '%s\n' $line
    end
  end
end
complete -c pennyblack -f -a '(__pennyblack_complete)'`;

export const completionScripts = { bash, zsh, fish };
