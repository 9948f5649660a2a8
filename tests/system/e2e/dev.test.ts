/** `selvedge dev`, as a person uses it while they write a function. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { cliEnvOf, cliPath, runCli } from '../../harness/cli.ts'
import { needs } from '../../harness/installed.ts'
import { temporaryFolder } from '../../harness/processes.ts'
import { type Services, startServices } from '../../harness/services.ts'

let services: Services
let home: { path: string; remove: () => Promise<void> }
let folder: string
let count = 0
let running: Dev | undefined
beforeAll(async () => {
  services = await startServices()
  home = await temporaryFolder()
})
afterAll(async () => {
  await services.stop()
  await home.remove()
})
beforeEach(() => {
  folder = join(home.path, `own${++count}`)
  mkdirSync(folder)
  mkdirSync(temporary())
})
afterEach(async () => {
  await running?.end('SIGKILL')
  running = undefined
})

interface Dev {
  readonly child: ChildProcess
  out(): string
  errors(): string
  /** @returns the exit code */
  end(signal?: NodeJS.Signals): Promise<number | null>
}

/** Folder of the temporary files of one test. */
const temporary = () => `${folder}-temporary`
const temporaryFiles = () => readdirSync(temporary()).filter((name) => name.startsWith('selvedge-'))

const env = () => ({
  ...cliEnvOf(services.stack),
  SELVEDGE_ACCESS_TOKEN: services.token,
  SELVEDGE_RUNTIME_PORT: new URL(services.url()).port,
  TMPDIR: temporary(),
})

function startDev(args: readonly string[] = [], more: Record<string, string> = {}): Dev {
  const child = spawn(process.execPath, [cliPath, 'dev', folder, ...args], { env: { ...env(), ...more } })
  let out = ''
  let errors = ''
  child.stdout.on('data', (chunk) => {
    out += chunk
  })
  child.stderr.on('data', (chunk) => {
    errors += chunk
  })
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  running = {
    child,
    out: () => out,
    errors: () => errors,
    end(signal = 'SIGINT') {
      child.kill(signal)
      return ended
    },
  }
  return running
}

const write = (files: Record<string, string>) => {
  for (const [path, content] of Object.entries(files)) writeFileSync(join(folder, path), content)
}
const answering = (text: string) =>
  `export default { fetch(request: Request): Response { return new Response('${text}') } }\n`
const base = () => `/${services.developer.clientId}/${folder.split('/').at(-1)}`
const expectAnswer = (text: string) => expect.poll(async () => (await services.call(base())).text).toBe(text)

describe('dev with a function in TypeScript', () => {
  it('shows the URL, and answers with each version that is saved', async () => {
    write({ 'index.ts': answering('first') })
    const dev = startDev()
    await expect
      .poll(dev.errors)
      .toMatch(/deployed \S+ \(function\) at http:\/\/localhost:\d+\/\S+ {2}built in \d+ ms/)
    expect(dev.errors()).toContain(`${services.url().replace('127.0.0.1', 'localhost')}${base()}`)
    await expectAnswer('first')
    write({ 'other.ts': "export const text: string = 'from another file'" })
    write({
      'index.ts': "import { text } from './other.ts'\nexport default { fetch: () => new Response(text) }",
    })
    await expectAnswer('from another file')
    write({ 'next.ts': "export const text: string = 'saved by rename'" })
    renameSync(join(folder, 'next.ts'), join(folder, 'other.ts'))
    await expectAnswer('saved by rename')
  })

  it('shows a build error once, with its place and lines, and continues with the next save', async () => {
    write({ 'index.ts': answering('before') })
    const dev = startDev()
    await expectAnswer('before')
    write({ 'index.ts': 'export default {\n  fetch() {\n    retur 1\n  },\n}\n' })
    await expect.poll(dev.errors).toContain('> 3 |     retur 1')
    expect(dev.errors()).toMatch(/not deployed: index\.ts:3:\d+: /)
    expect(dev.errors().match(/not deployed/g)).toHaveLength(1)
    expect((await services.call(base())).text).toBe('before')
    write({ 'index.ts': answering('after') })
    await expectAnswer('after')
  })

  it('shows an exception with the lines of the author, when it answers and when it loads', async () => {
    write({
      'index.ts':
        "interface A { a: 1 }\n\nimport { fail } from './fail.ts'\nexport default { fetch: () => fail() }",
      'fail.ts':
        "type B = string\n\nexport function fail(): Response {\n  throw new Error('on purpose')\n}\n",
    })
    const dev = startDev()
    await expect.poll(dev.errors).toContain('deployed ')
    await services.call(base())
    await expect.poll(dev.out).toMatch(/! Error: on purpose\n! {5}at fail \(fail\.ts:4:9\)\n/)
    await expect.poll(dev.out).toMatch(/ > 4 \| {3}throw new Error\('on purpose'\)\n.*\n.*5 \| \}\n/)
    write({
      'index.ts':
        "const a: string = 'x'\n\nthrow new Error('at the start')\nexport default { fetch: () => a }",
    })
    await expect.poll(dev.errors).toMatch(/not deployed: .*at the start \(index\.ts:3:7\)/)
    await expect.poll(dev.errors).toContain("> 3 | throw new Error('at the start')")
  })

  it('continues after the folder was deleted and made again', async () => {
    write({ 'index.ts': answering('one') })
    const dev = startDev()
    await expectAnswer('one')
    rmSync(folder, { recursive: true })
    await expect.poll(dev.errors).toMatch(/is gone; waiting until it is there again/)
    mkdirSync(folder)
    write({ 'index.ts': answering('two') })
    await expectAnswer('two')
  })

  it('waits for a runtime that restarts, deploys what was saved meanwhile, and follows its log again', async () => {
    write({ 'index.ts': answering('one') })
    const dev = startDev()
    await expect.poll(dev.errors).toContain('deployed ')
    await services.stopRuntime()
    try {
      await expect.poll(dev.errors).toContain('the log cannot be read, trying again')
      write({
        'index.ts': "export default { fetch() { console.log('a line'); return new Response('two') } }",
      })
      await expect.poll(dev.errors).toContain('not deployed: ')
    } finally {
      await services.restart()
    }
    await expectAnswer('two')
    await expect.poll(dev.out).toContain('a line')
  })

  it('stores one image and leaves no process and no file behind, whenever it is interrupted', async () => {
    write({ 'index.ts': answering('first') })
    const moments: ((dev: Dev) => Promise<void>)[] = [
      async () => undefined,
      async () => void (await expect.poll(temporaryFiles).not.toEqual([])),
      async ({ errors }) => void (await expect.poll(errors).toContain('deployed ')),
    ]
    for (const comes of moments) {
      const dev = startDev()
      await comes(dev)
      // Before it listens to signals, the signal itself ends it.
      expect([0, null]).toContain(await dev.end())
      expect(temporaryFiles()).toEqual([])
    }
    const dev = startDev()
    await expectAnswer('first')
    for (let save = 0; save < 5; save++) {
      write({ 'index.ts': answering(`save ${save}`) })
      await expectAnswer(`save ${save}`)
    }
    expect(await dev.end()).toBe(0)
    expect(dev.errors()).toMatch(/stays deployed; to remove it: selvedge container remove \S+\n$/)
    const { out } = await runCli(['image', 'list', '--json'], env())
    const images = (JSON.parse(out) as { repoTags: string[] }[]).filter(({ repoTags }) =>
      repoTags.some((tag) => tag.startsWith(folder.split('/').at(-1)!)),
    )
    expect(images).toHaveLength(1)
    expect(temporaryFiles()).toEqual([])
    expect(processesIn(folder)).toEqual([])
  })

  it('leaves no process behind when it is killed', async () => {
    write({ 'index.ts': answering('first') })
    const dev = startDev()
    await expectAnswer('first')
    await dev.end('SIGKILL')
    await expect.poll(() => processesOf(dev.child.pid!)).toEqual([])
  })
})

it(
  'dev at a terminal has colours, cleans the log of control sequences, and leaves the terminal as it was',
  needs('python3'),
  async () => {
    write({
      'index.ts':
        "export default { fetch() { console.error('\\u001b[2Jred\\u001b]0;title\\u0007'); return new Response('x') } }",
    })
    const pty = 'import pty,sys,os; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))'
    const child = spawn('python3', ['-c', pty, process.execPath, cliPath, 'dev', folder], {
      env: { ...env(), TERM: 'xterm-256color' },
    })
    let out = ''
    child.stdout.on('data', (chunk) => {
      out += chunk
    })
    await expect.poll(() => out).toMatch(/\u001b\[32mdeployed /)
    await services.call(base())
    await expect.poll(() => out).toMatch(/\u001b\[31m! red\u001b\[0m/)
    child.stdin.write('\u0003')
    await new Promise((resolve) => child.once('exit', resolve))
    expect(child.exitCode).toBe(0)
    expect(out).not.toMatch(/\u001b(?!\[(?:0|2|31|32|33)m|\[K)/)
  },
)

describe('dev beside other processes', () => {
  it('ends with the process that started it, and leaves the service deployed', async () => {
    write({ 'index.ts': answering('of a parent') })
    const script = `${JSON.stringify(process.execPath)} ${cliPath} dev ${folder} & wait`
    const parent = spawn('sh', ['-c', script], { env: env(), stdio: 'ignore' })
    await expectAnswer('of a parent')
    expect(processesIn(`${cliPath} dev ${folder}`)).not.toEqual([])
    parent.kill('SIGKILL')
    await expect.poll(() => processesIn(`${cliPath} dev ${folder}`)).toEqual([])
    await expectAnswer('of a parent')
  })

  it('a second one of the same service names the process of the first, until that ends', async () => {
    write({ 'index.ts': answering('of the first') })
    const first = startDev()
    await expect.poll(first.errors).toContain('deployed ')
    const second = await runCli(['dev', folder], env())
    expect(second).toMatchObject({ code: 2, out: '' })
    expect(second.errors).toContain(`another "selvedge dev" already deploys own${count} to this device`)
    expect(second.errors).toContain(`process ${first.child.pid}`)
    // One that was killed leaves nothing behind.
    await first.end('SIGKILL')
    const third = startDev()
    await expect.poll(third.errors).toContain('deployed ')
  })

  it('a file is refused with the folder that was meant', async () => {
    write({ 'index.ts': answering('never') })
    const { code, errors } = await runCli(['dev', join(folder, 'index.ts')], env())
    expect({ code, errors }).toEqual({
      code: 2,
      errors: `error: ${folder}/index.ts is a file, and dev watches a folder\nhint: Name the folder that it is in: selvedge dev ${folder}\n`,
    })
  })
})

/** Processes with a path in their command line. */
function processesIn(path: string): string[] {
  return processList(({ command }) => command.includes(path))
}
/** Processes with a parent. */
function processesOf(parent: number): string[] {
  return processList((each) => each.parent === parent)
}

function processList(wanted: (process: { command: string; parent: number }) => boolean): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
        const parent = Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
        return wanted({ command, parent })
      } catch {
        return false
      }
    })
}
