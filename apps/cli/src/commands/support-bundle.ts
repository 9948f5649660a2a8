import { closeSync, fsyncSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { escapeControls } from '@selvedge/protocol/redaction'
import { command, type Input } from '../command.ts'
import { accessTokenOf, accessTokenOptions } from '../context/access-token.ts'
import { configFolder } from '../context/config-folder.ts'
import type { Context } from '../context/context.ts'
import { UsageError, withPath } from '../failure.ts'
import { readKnownSecrets } from '../support/known-secrets.ts'
import { collectLogs, type Logs } from '../support/logs.ts'
import { createNeutral } from '../support/neutral.ts'
import { collectSections } from '../support/sections.ts'

/** Bytes of a bundle; a section that would exceed them is left out. */
const maxBytes = 8 * 1024 * 1024

/** What the sections are, for the person who decides whether to send them. */
const meanings: Readonly<Record<string, string>> = {
  machine: 'versions, processors, memory',
  runtime: 'node ID, version, time, reachability of the services, notices',
  engines: 'engines and layers of isolation',
  checks: 'results of selvedge doctor --production',
  settings: 'names of options that are set; values of numbers and switches',
  files: 'names, sizes and modes in the state folder',
  'logs of services': 'last lines of each service: they can contain anything that a service writes',
  'logs of daemons': 'last lines of the journal',
}

export const supportBundle = command({
  path: ['support', 'bundle'],
  summary:
    'Write facts about this machine to a file, to send with a question. Secrets and personal data are left out.',
  options: [
    { flags: '-o, --output <file>', description: 'file to create; default selvedge-support-<time>.json' },
    {
      flags: '--with-logs',
      description: 'also the logs of services and daemons, which can contain personal data',
    },
    ...accessTokenOptions,
  ],
  run: async (context, { options }) => {
    const madeAt = new Date(context.now() * 1000).toISOString()
    const name = `selvedge-support-${madeAt.replaceAll(/[-:]|\.\d+/g, '')}.json`
    const file = resolve(typeof options.output === 'string' ? options.output : name)
    const target = openNew(file)
    try {
      const sections = await collectSections(context)
      const withLogs = options.withLogs === true
      const logs = withLogs ? await readLogs(context, options) : undefined
      const folders = ['sign-ins', 'leases'].map((name) => join(configFolder(context.env), name))
      const secrets = readKnownSecrets(context.state.path, folders, context.env)
      const neutral = createNeutral(homedir(), [...secrets, ...(logs?.secrets ?? [])])
      const all = {
        ...sections,
        ...(logs && { 'logs of services': logs.services, 'logs of daemons': logs.daemons }),
      }
      const { text, contents } = write(all, madeAt, neutral.value)
      // All of it, or an error: one call of write may end in the middle, as on a full disk.
      writeFileSync(target, text)
      fsyncSync(target)
      return { file, bytes: Buffer.byteLength(text), withLogs, contents }
    } catch (cause) {
      rmSync(file, { force: true })
      throw withPath(cause, file)
    } finally {
      closeSync(target)
    }
  },
  human: ({ file, bytes, contents }) =>
    [
      `${file}: ${bytes} bytes, readable for you only. Nothing was sent. It contains:`,
      ...contents.map(
        ({ name, bytes: size, meaning }) =>
          `  ${name.padEnd(16)} ${String(size).padStart(8)} bytes  ${meaning}`,
      ),
      'Read the file before you send it.',
    ].join('\n'),
})

/** A token that the user named must work; without one, the logs of services may be missing. */
async function readLogs(context: Context, options: Input['options']): Promise<Logs> {
  const getToken = () => accessTokenOf(context, options, 'openid edge:mcm')
  const isNamed = options.tokenFile !== undefined || options.developerTokenFile !== undefined
  const named = isNamed ? await getToken() : undefined
  return collectLogs(context, async () => named ?? getToken())
}

interface Content {
  readonly name: string
  readonly bytes: number
  readonly meaning: string
}

/** The text of the file, one section after the other, and what it contains. */
function write(
  sections: Readonly<Record<string, unknown>>,
  madeAt: string,
  neutral: (value: unknown) => unknown,
): { text: string; contents: Content[] } {
  const shown: Record<string, unknown> = { format: 1, madeAt }
  const contents: Content[] = []
  let left = maxBytes
  for (const [name, section] of Object.entries(sections)) {
    const clean = neutral(section)
    const bytes = Buffer.byteLength(JSON.stringify(clean, undefined, 1))
    const isTooLarge = bytes * 2 > left
    shown[name] = isTooLarge ? { leftOut: `${bytes} bytes are too much` } : clean
    if (!isTooLarge) left -= bytes * 2
    contents.push({ name, bytes: isTooLarge ? 0 : bytes, meaning: meanings[name] ?? '' })
  }
  return { text: `${escapeControls(JSON.stringify(shown, undefined, 1))}\n`, contents }
}

function openNew(file: string): number {
  try {
    return openSync(file, 'wx', 0o600)
  } catch (cause) {
    throw new UsageError(
      `can't create ${file}: ${(cause as Error).message}`,
      'Name another file with --output: an existing one is not overwritten.',
    )
  }
}
