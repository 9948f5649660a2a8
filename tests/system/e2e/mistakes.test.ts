/** What the command line answers to mistakes: the table of docs/reference/mistakes.md, which a person reads and this test compares. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { cliEnvOf } from '../../harness/cli.ts'
import { runHere } from '../../harness/cli-here.ts'
import { filesOfMistakes, type Mistake, mistakes } from '../../harness/mistakes.ts'
import { root, temporaryFolder } from '../../harness/processes.ts'
import { type Services, startServices } from '../../harness/services.ts'

const page = join(root, 'docs/reference/mistakes.md')

let services: Services
let folder: Awaited<ReturnType<typeof temporaryFolder>>
const at = (path: string) => join(folder.path, path)

beforeAll(async () => {
  services = await startServices()
  folder = await temporaryFolder()
  for (const [path, text] of Object.entries(filesOfMistakes)) {
    mkdirSync(dirname(at(path)), { recursive: true })
    writeFileSync(at(path), text)
  }
})
afterAll(async () => {
  await services.stop()
  await folder.remove()
})

function envOf({ situation }: Mistake): Record<string, string> {
  if (situation === 'nothing')
    return { PATH: process.env.PATH ?? '', SELVEDGE_STATE: at('no-state'), XDG_CONFIG_HOME: at('config') }
  const env = cliEnvOf(services.stack)
  return situation === 'person' ? env : { ...env, SELVEDGE_ACCESS_TOKEN: services.token }
}

/** The same on every run: without what names this run. */
const masked = (text: string): string =>
  text
    .replaceAll(services.stack.state, 'STATE')
    .replaceAll(folder.path, 'FOLDER')
    .replaceAll(services.developer.clientId, 'CLIENT')
    .replaceAll(/\b[0-9a-f]{56}\b/g, 'NODE')
    .replaceAll(/(127\.0\.0\.1|localhost):(?!9\b)\d+/g, '$1:PORT')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .trim()

/** Each line as code: what it has is shown as it is. */
const cell = (text: string): string =>
  text
    .replaceAll('|', '\\|')
    .replaceAll('`', "'")
    .split('\n')
    .map((line) => (line.trim() === '' ? '' : `\`${line}\``))
    .join('<br>')

async function rowOf(mistake: Mistake): Promise<string> {
  const ran = await runHere(folder.path, mistake.typed, { env: envOf(mistake) })
  const typed = ['selvedge', ...mistake.typed.map((word) => (/[ {]/.test(word) ? `'${word}'` : word))].join(
    ' ',
  )
  return `| \`${typed.replaceAll('|', '\\|')}\` | ${ran.code} | ${cell(masked(ran.errors || ran.out))} |`
}

const titles = {
  device: 'On a device with an account, signed in',
  person: 'Without a sign-in',
  nothing: 'Where no runtime runs',
} as const

async function makePage(): Promise<string> {
  const parts = []
  for (const [situation, title] of Object.entries(titles)) {
    const rows = []
    for (const each of mistakes) if (each.situation === situation) rows.push(await rowOf(each))
    parts.push(`## ${title}\n\n| Typed | Exit code | Answered |\n| --- | --- | --- |\n${rows.join('\n')}`)
  }
  return `<!-- Made by tests/system/e2e/mistakes.test.ts with UPDATE_MISTAKES=1; change the code, not this file. -->

# Mistakes, and what is answered

For contributors: ${mistakes.length} mistakes at the command line. A message names the value that was typed and what is wrong with it; the hint is one thing
to type next. Read the rows that a change of yours changes as a person who did not write it.

${parts.join('\n\n')}
`
}

it('each mistake has the answer of the page', async () => {
  const made = await makePage()
  if (process.env.UPDATE_MISTAKES) writeFileSync(page, made)
  expect(mistakes.length).toBeGreaterThanOrEqual(100)
  expect(made.split('\n')).toEqual(readFileSync(page, 'utf8').split('\n'))
})

it('no answer has a value that is no value, a stack, or a list of everything', async () => {
  const rows = readFileSync(page, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| `'))
  const weak = rows.filter((row) => /\bNaN\b|undefined|\[object|\bat \S+ \(/.test(row) || row.length > 700)
  expect(weak).toEqual([])
  // A mistake never ends with success.
  expect(rows.filter((row) => /\| 0 \|/.test(row))).toEqual([])
  // Each answer has a next step.
  expect(rows.filter((row) => !row.includes('`hint: '))).toEqual([])
})
