/**
 * Each command that people are shown (in documents, hints, help and console), run as it is shown on a Debian that has the packages and no
 * clone. The engines of the packages are linked there: they are most of them, and are the same files.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { platforms } from '../../../../apps/console/src/views/projects/connect/commands.ts'
import { canMakeDebs, makeDeb } from '../../../../packaging/deb/deb.ts'
import { ownArchitecture, products } from '../../../../packaging/products.ts'
import { findEngine } from '../../../../packaging/tree/engines.ts'
import { needs } from '../../../harness/installed.ts'
import { makeNetworks, type Networks } from '../../../harness/networks.ts'
import { root, temporaryFolder } from '../../../harness/processes.ts'
import { problemOf, type Shown, shownIn } from '../../../harness/shown-commands.ts'
import { addSystemTools, type DebianRoot, makeDebianRoot } from '../debian-root.ts'
import { elsewhere, lasting, placeholders, preparations, refused } from './exceptions.ts'

const architecture = ownArchitecture()
const release = {
  version: '1.0.0',
  epochSeconds: 1_700_000_000,
  maintainer: { name: 'Jane Doe', email: 'jane@example.com' },
}

interface Line {
  readonly where: string
  readonly text: string
  readonly isWhole: boolean
}

/** What a reader types. @returns undefined for a sentence that names a group of commands */
function typed({ where, text, isWhole }: Shown): Line {
  const filled = Object.entries(placeholders).reduce(
    (all, [word, value]) => all.replaceAll(word, value),
    text,
  )
  const line = filled
    .replaceAll(/<[\w-]+>/g, 'hello')
    .replace(/\s*(?:…|\\n?)\s*$/, '')
    .replace(/^(?:sudo )?(?:npx )?selvedge-admin\b/, 'selvedge-admin')
    .replace(/^(?:sudo )?(?:npx )?selvedge\b(?!-)/, 'selvedge')
  return { where, isWhole, text: line }
}

/** Each command once, without those that lack what only a reader knows. One that a shell shows counts as whole wherever else it is. */
async function shownLines(): Promise<Line[]> {
  const all = [
    ...shownIn.documents(),
    ...shownIn.sources(),
    ...shownIn.help(),
    ...platforms.flatMap(shownIn.page),
  ].map(typed)
  const lines = new Map<string, Line>()
  for (const each of all.filter(({ isWhole }) => isWhole)) lines.set(each.text, each)
  for (const each of all)
    if (!lines.has(each.text) && (await problemOf({ ...each, isWhole: true })) === undefined)
      lines.set(each.text, each)
  return [...lines.values()].filter(({ text }) => !elsewhere.some(({ command }) => command.test(text)))
}

const isLasting = ({ text }: Line): boolean => lasting.test(text)
/** Commands that change or call services run one after the other. */
const ofServices =
  /^selvedge (?:deploy|redeploy|start|stop|restart|container|image|app|curl|logs|why|ps|secret|admin|up|account)\b/

/** Writes each command to a file, and which of them are run together. */
function writeLists({ at }: DebianRoot, lines: readonly Line[]): void {
  mkdirSync(at('shown/lines'))
  const lists = { lasting: '', ordered: '', others: '' }
  for (const [number, line] of lines.entries()) {
    const before = preparations.filter(([command]) => command.test(line.text)).map(([, each]) => `${each}\n`)
    writeFileSync(at(`shown/lines/${number}`), before.join('') + line.text)
    lists[isLasting(line) ? 'lasting' : ofServices.test(line.text) ? 'ordered' : 'others'] += `${number}\n`
  }
  for (const [name, numbers] of Object.entries(lists)) writeFileSync(at(`shown/${name}`), numbers)
}

/** As the machine boots: its root is that Debian, and what was started ends with the script. A change of the root by chroot would allow no user namespaces. */
const boot = `set -e
cd "$1"
pivot_root . shown/old
mount -t proc proc /proc
umount -l /shown/old
exec /shown/run-shown.sh`

function run({ path, at }: DebianRoot, networks: Networks): void {
  execFileSync('mount', ['--rbind', '/dev', at('dev')])
  const space = ['ip', 'netns', 'exec', networks.spaceOf('shown')]
  const own = ['unshare', '--mount', '--pid', '--fork', '--kill-child', 'bash', '-c', boot, 'bash', path]
  const { status, stdout, stderr } = spawnSync(space[0]!, [...space.slice(1), ...own], { encoding: 'utf8' })
  expect(status, stdout + stderr).toBe(0)
}

/** No answer to a person: a command that does not exist, a command of a clone, a program error. */
const broken =
  /unknown (?:command|option)|: (?:command )?not found|\bnpx\b|ENOENT|no such file|cannot find module|\bERR_[A-Z]|^\s+at \S+ \(|\bundefined\b|\bNaN\b/im

describe('each command that is shown', {
  ...(architecture && canMakeDebs() ? needs('root', 'mounts', 'networks', 'bwrap', 'curl') : { skip: true }),
}, () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let debian: DebianRoot
  let networks: Networks
  let lines: Line[]
  let ran: { line: Line; code: number; out: string }[]

  beforeAll(async () => {
    folder = await temporaryFolder()
    const at = (...path: string[]) => join(folder.path, ...path)
    execFileSync(process.execPath, [join(root, 'scripts/bundle.mjs')])
    debian = makeDebianRoot(folder.path)
    networks = makeNetworks({ shown: {} })
    addSystemTools(debian)
    for (const each of ['node', 'npm', 'npx']) rmSync(debian.at(`usr/bin/${each}`), { force: true })
    for (const each of ['packages', 'work', 'out', 'old'])
      mkdirSync(debian.at(`shown/${each}`), { recursive: true })
    for (const product of products) {
      const small = { ...product, engines: [] }
      makeDeb(small, architecture!, { release, target: debian.at('shown/packages'), work: at(), fast: true })
      mkdirSync(debian.at(`usr/lib/${product.name}`), { recursive: true })
      for (const engine of product.engines)
        symlinkSync(`/engines/${engine}`, debian.at(`usr/lib/${product.name}/${engine}`))
    }
    for (const engine of ['node', 'deno'] as const) {
      mkdirSync(debian.at('engines'), { recursive: true })
      writeFileSync(debian.at(`engines/${engine}`), '')
      execFileSync('mount', [
        '--bind',
        findEngine(engine, architecture!).program,
        debian.at(`engines/${engine}`),
      ])
    }
    cpSync(join(import.meta.dirname, 'run-shown.sh'), debian.at('shown/run-shown.sh'))
    cpSync(join(root, 'examples/counter'), debian.at('shown/fixture/examples/counter'), { recursive: true })
    lines = await shownLines()
    writeLists(debian, lines)
    run(debian, networks)
    ran = lines.map((line, at) => ({
      line,
      code: Number(readFileSync(debian.at(`shown/out/${at}.code`), 'utf8')),
      out: readFileSync(debian.at(`shown/out/${at}.out`), 'utf8'),
    }))
  })
  afterAll(async () => {
    debian?.remove()
    networks?.remove()
    await folder.remove()
  })

  const report = (all: typeof ran) =>
    all.map(
      ({ line: { where, text }, code, out }) => `${where}: ${text} (exit code ${code})\n${out.slice(0, 600)}`,
    )

  it('is a command of the packages, and has an answer for people', () => {
    expect(ran.length).toBeGreaterThan(150)
    expect(report(ran.filter(({ out, code }) => broken.test(out) || code === 127))).toEqual([])
  })

  it('does what it is shown for', () => {
    const whole = ran.filter(({ line }) => line.isWhole)
    const isRefused = ({ text }: Line) => refused.some(({ command }) => command.test(text))
    const failed = whole.filter(({ line, code }) => code !== 0 && !(isLasting(line) && code === 124))
    expect(report(failed.filter(({ line }) => !isRefused(line)))).toEqual([])
  })

  it('has no exception that is not needed', () => {
    for (const { command } of refused)
      expect(
        ran.some(({ line, code }) => command.test(line.text) && code !== 0),
        String(command),
      ).toBe(true)
  })
})
