/** Completion scripts, made from the table of commands; nothing is run while a person types. */
import type { CommandDeclaration } from './command.ts'

export type Shell = 'bash' | 'zsh' | 'fish'

const globalOptions = [
  '--json',
  '--verbose',
  '--context',
  '--state',
  '--url',
  '--identity-url',
  '--discovery-url',
  '--help',
]

/** What may follow each prefix of a command: its next words, or its options. */
function candidates(commands: readonly CommandDeclaration[]): Map<string, string[]> {
  const next = new Map<string, Set<string>>()
  const add = (prefix: string, word: string) => next.set(prefix, (next.get(prefix) ?? new Set()).add(word))
  for (const { path, args = [], options = [] } of commands) {
    for (let depth = 0; depth < path.length; depth++) add(path.slice(0, depth).join(' '), path[depth]!)
    for (const choice of args[0]?.choices ?? []) add(path.join(' '), choice)
    for (const { flags } of options) add(path.join(' '), flags.split(' ')[0]!)
    for (const word of globalOptions) add(path.join(' '), word)
  }
  return new Map([...next].map(([prefix, words]) => [prefix, [...words]]))
}

function bash(commands: readonly CommandDeclaration[]): string {
  const cases = [...candidates(commands)].map(
    ([prefix, words]) => `    '${prefix}') words='${words.join(' ')}' ;;`,
  )
  return `_selvedge() {
  local at prefix='' words=''
  for ((at = 1; at < COMP_CWORD; at++)); do
    [[ \${COMP_WORDS[at]} == -* ]] && break
    prefix="\${prefix:+$prefix }\${COMP_WORDS[at]}"
  done
  case "$prefix" in
${cases.join('\n')}
  esac
  if [[ -z $words || ( \${COMP_WORDS[COMP_CWORD - 1]} == --*-file || \${COMP_WORDS[COMP_CWORD - 1]} == --out ) ]]; then
    COMPREPLY=($(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}"))
  else
    COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
  fi
}
complete -F _selvedge selvedge`
}

function zsh(commands: readonly CommandDeclaration[]): string {
  return `autoload -Uz bashcompinit && bashcompinit\n${bash(commands)}`
}

function fish(commands: readonly CommandDeclaration[]): string {
  const lines = [...candidates(commands)].map(
    ([prefix, words]) =>
      `complete -c selvedge -f -n 'test (__selvedge_prefix) = "${prefix}"' -a '${words.join(' ')}'`,
  )
  return `function __selvedge_prefix
  set -l words
  for word in (commandline -opc)[2..]
    string match -q -- '-*' $word; and break
    set -a words $word
  end
  echo "$words"
end
${lines.join('\n')}`
}

export const completionScripts: Readonly<Record<Shell, (commands: readonly CommandDeclaration[]) => string>> =
  { bash, zsh, fish }
