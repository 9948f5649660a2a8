/** What a daemon reports of a parameter, in the words of the command line: the option or argument that was typed. */
import { isSelvedgeError } from '@selvedge/client'
import type { CommandDeclaration } from './command.ts'
import { settingHint } from './setting-hint.ts'

export interface Explained {
  readonly message: string
  readonly hint?: string
}

/** @param command the command that was called @returns undefined for any other failure */
export function explainParams(cause: unknown, command: CommandDeclaration): Explained | undefined {
  if (!isSelvedgeError(cause) || cause.kind !== 'rpc' || cause.reason !== 'invalid_params') return undefined
  const path = command.path.join(' ')
  const hint =
    settingHint(cause) ??
    (path === 'call'
      ? 'The parameters of each method: selvedge call rpc.discover'
      : `"selvedge help ${path}" explains it.`)
  const [, name, rest] = /^[\w.]{1,80}: parameter "(\w{1,80})" (.*)$/s.exec(cause.message) ?? []
  const typed = name === undefined || rest === undefined ? undefined : typedName(name, command)
  if (typed === undefined) return { message: cause.message, hint }
  const [, whole, decimals] = /^is "(-?\d{1,3}),(\d{1,20})"; expected/.exec(rest!) ?? []
  if (whole !== undefined)
    return { message: `${typed} ${plain(rest!)}`, hint: `Did you mean ${whole}.${decimals}?` }
  return { message: `${typed} ${plain(rest!)}`, hint }
}

const plain = (problem: string): string => problem.replace('a decimal string or a finite number', 'a number')

/** The option or argument for a parameter: `--client-id` for `clientId`. */
function typedName(name: string, { options = [], args = [] }: CommandDeclaration): string | undefined {
  const dashed = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  const flags = options.flatMap((each) => each.flags.split(' '))
  if (flags.includes(`--${dashed}`)) return `--${dashed}`
  return args.find((each) => each.name.replaceAll(/[<>[\].]/g, '') === dashed)?.name
}
