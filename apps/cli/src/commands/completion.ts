import { type CommandDeclaration, command } from '../command.ts'
import { completionScripts, type Shell } from '../completion.ts'
import { UsageError } from '../failure.ts'

const isShell = (text: string): text is Shell => Object.hasOwn(completionScripts, text)

/** @param commands the table that the completions are of, once it is whole */
export const completion = (commands: () => readonly CommandDeclaration[]) =>
  command({
    path: ['completion'],
    summary: 'Print the completion script for bash, zsh or fish.',
    args: '<shell>',
    run: async (_, { args: [shell = ''] }) => {
      if (isShell(shell)) return completionScripts[shell](commands())
      throw new UsageError(
        `there is no completion for "${shell}"`,
        'Give bash, zsh or fish: source <(selvedge completion bash)',
      )
    },
  })
