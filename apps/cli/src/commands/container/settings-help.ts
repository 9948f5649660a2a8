/** Names of the settings for the help of commands that deploy. */
import { containerSettings } from '@selvedge/protocol'

/** Characters of a line of the help. */
const width = 78

/** The names on lines of the width of a terminal. */
function linesOf(names: readonly string[]): readonly string[] {
  const lines: string[] = []
  for (const name of names) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + name.length <= width)
      lines[lines.length - 1] = `${last} ${name}`
    else lines.push(`  ${name}`)
  }
  return lines
}

export const settingsHelp: readonly string[] = [
  'Settings for --env, each as MCM.<name>=<value>:',
  ...linesOf(Object.keys(containerSettings).map((name) => name.replace(/^MCM\./, ''))),
  'What they mean: selvedge help settings',
]
