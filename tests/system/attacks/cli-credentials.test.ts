/** A cloned repository, or a runtime that lies about its services, wants the credentials of the person at the command line. */
import { hash } from 'node:crypto'
import { chmodSync, chownSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Call, everyCall } from '../../attacks/cli-commands.ts'
import type { Ran } from '../../harness/cli.ts'
import { runHere } from '../../harness/cli-here.ts'
import { temporaryFolder } from '../../harness/processes.ts'
import { type Recorder, startRecorder } from '../../harness/recorder.ts'
import { everyCommand } from '../../harness/run-in.ts'

const secret = 'secret-of-the-person'
let folder: Awaited<ReturnType<typeof temporaryFolder>>
let hostile: Recorder
let hostileSocket: Recorder
let calls: Call[]
const inFolder = (name: string) => join(folder.path, name)

beforeAll(async () => {
  folder = await temporaryFolder()
  mkdirSync(inFolder('elsewhere'), { mode: 0o700 })
  hostile = await startRecorder()
  hostileSocket = await startRecorder({ at: inFolder('elsewhere/runtime.sock'), names: hostile.url })
  symlinkSync('runtime.sock', inFolder('elsewhere/admin.sock'))
  writeFileSync(inFolder('access'), `${secret}-access`)
  writeFileSync(inFolder('developer'), `${secret}-developer`)
  writeFileSync(inFolder('image.tar'), 'x')
  writeFileSync(
    inFolder('track.nmea'),
    '$GPGGA,092750.000,5321.6802,N,00630.3372,W,1,8,1.03,61.7,M,55.2,M,,*76\r\n$GPRMC,092750.000,A,5321.6802,N,00630.3372,W,0.02,31.66,280511,,,A*43\r\n',
  )
  mkdirSync(inFolder('function'))
  writeFileSync(inFolder('function/index.js'), 'export default {}')
  calls = everyCall({
    folder: folder.path,
    secret,
    tokenFile: inFolder('access'),
    developerTokenFile: inFolder('developer'),
  })
})
afterAll(async () => {
  await hostile.close()
  await hostileSocket.close()
  await folder.remove()
})
beforeEach(() => {
  hostile.received.length = 0
  hostileSocket.received.length = 0
  rmSync(inFolder('made'), { recursive: true, force: true })
})

/** Runs a command in a folder as a person who has credentials in the environment, and a sign-in at another service. */
const run = (cwd: string, args: readonly string[], { lasts = false, env = {} } = {}): Promise<Ran> =>
  runHere(cwd, args, {
    env: {
      HOME: inFolder('home'),
      SELVEDGE_ACCESS_TOKEN: `${secret}-environment`,
      SELVEDGE_API_KEY: `${secret}-key`,
      ...env,
    },
    untilShown: lasts ? 'deployed' : undefined,
  })

/** What each call made a server receive: empty where all is well. */
async function receivedBy(recorders: readonly Recorder[], cwd: string): Promise<Record<string, string[]>> {
  const seen: Record<string, string[]> = {}
  for (const { title, args, lasts } of calls) {
    await run(cwd, args, { lasts })
    const received = recorders.flatMap((each) => each.received.splice(0))
    if (received.length > 0) seen[title] = received
  }
  return seen
}

/** A repository as it comes from a stranger: whatever files and links git can hold. */
function clone(name: string, make: (state: string) => void): string {
  const path = inFolder(name)
  mkdirSync(path)
  make(join(path, '.selvedge'))
  return path
}

function writeHostileFiles(state: string): void {
  const { url } = hostile
  writeFileSync(join(state, 'stack.json'), JSON.stringify({ runtime: url, identity: url, discovery: url }))
  writeFileSync(join(state, 'api-key'), 'key-of-the-stranger-12345')
  const login = {
    identityUrl: url,
    clientId: 'x',
    scope: 'openid',
    refreshToken: 'r',
    idToken: 'i',
    idTokenEndsAt: 0,
  }
  writeFileSync(join(state, 'login.json'), JSON.stringify(login))
}

describe('in a cloned repository no command sends anything to an address of the repository', () => {
  it('with files of a state folder', everyCommand, async () => {
    const path = clone('files', (state) => {
      mkdirSync(state)
      writeHostileFiles(state)
    })
    expect(await receivedBy([hostile, hostileSocket], path)).toEqual({})
  })

  it('with symbolic links as the sockets of its state folder', everyCommand, async () => {
    const path = clone('linked-sockets', (state) => {
      mkdirSync(state)
      writeHostileFiles(state)
      symlinkSync(inFolder('elsewhere/runtime.sock'), join(state, 'runtime.sock'))
      symlinkSync(inFolder('elsewhere/runtime.sock'), join(state, 'admin.sock'))
    })
    expect(await receivedBy([hostile, hostileSocket], path)).toEqual({})
  })

  it('with a symbolic link as its state folder', everyCommand, async () => {
    const path = clone('linked-folder', (state) => symlinkSync(inFolder('elsewhere'), state))
    expect(await receivedBy([hostile, hostileSocket], path)).toEqual({})
  })
})

describe('a runtime that the user named, and that names its services itself', () => {
  const needsIdentity = () =>
    calls.filter(({ title }) => title === 'login' || title.endsWith('--developer-token-file'))

  it('leads no credential to them: the command names the option to give', everyCommand, async () => {
    const lying = await startRecorder({ names: hostile.url })
    try {
      for (const { title, args, lasts } of needsIdentity()) {
        const ran = await run(folder.path, [...args, '--url', lying.url], { lasts })
        expect(ran.errors, title).toContain(`--identity-url ${hostile.url}`)
        if (!lasts) expect(ran.code, title).toBe(2)
      }
      expect(hostile.received.filter((each) => !each.startsWith('GET '))).toEqual([])
      expect(lying.received.join('\n')).not.toContain(`${secret}-developer`)
    } finally {
      await lying.close()
    }
  })

  it('may name them once the user confirmed the host', async () => {
    const lying = await startRecorder({ names: hostile.url })
    try {
      const config = inFolder('home/.config/selvedge')
      mkdirSync(config, { recursive: true, mode: 0o700 })
      writeFileSync(join(config, 'confirmed.json'), JSON.stringify([`identity ${hostile.url}`]), {
        mode: 0o600,
      })
      const args = ['token', 'access', '--developer-token-file', inFolder('developer'), '--client-id', 'x']
      const ran = await run(folder.path, [...args, '--url', lying.url])
      expect(ran).toMatchObject({ code: 0, out: 'a.b.c\n' })
      expect(hostile.received.join('\n')).toContain(`${secret}-developer`)
    } finally {
      rmSync(inFolder('home'), { recursive: true, force: true })
      await lying.close()
    }
  })

  it.each([
    'http://id.example.com',
    'http://10.0.0.1:8084',
    'https://user:pass@id.example.com',
    'file:///etc/passwd',
  ])('names %s, which is refused', async (names) => {
    const lying = await startRecorder({ names })
    try {
      const ran = await run(folder.path, ['login', '--url', lying.url])
      expect(ran).toMatchObject({ code: 2, out: '' })
      expect(ran.errors).toMatch(/HTTPS only|not allowed in it|not an HTTP URL/)
      expect(ran.errors).not.toContain('user:pass')
    } finally {
      await lying.close()
    }
  })

  it.each([
    ['--url', 'http://192.0.2.1:8083'],
    ['--identity-url', 'http://id.example.com'],
  ])('%s %s is refused: tokens leave the machine over HTTPS only', async (...args) => {
    const ran = await run(folder.path, [
      'token',
      'access',
      '--developer-token-file',
      inFolder('developer'),
      '--client-id',
      'x',
      ...args,
    ])
    expect(ran).toMatchObject({ code: 2, errors: expect.stringContaining('over HTTPS only') })
  })
})

describe('the tokens of a sign-in', () => {
  const signIn = (identityUrl: string) => ({
    identityUrl,
    clientId: 'x',
    scope: 'openid',
    refreshToken: `${secret}-refresh`,
    idToken: `${secret}-id`,
    idTokenEndsAt: 4_000_000_000,
  })
  const store = (identityUrl: string, mode = 0o600) => {
    const own = inFolder('home/.config/selvedge/sign-ins')
    mkdirSync(own, { recursive: true, mode: 0o700 })
    const path = join(own, `${hash('sha256', identityUrl).slice(0, 32)}.json`)
    writeFileSync(path, JSON.stringify(signIn(identityUrl)), { mode })
    chmodSync(path, mode)
    return path
  }
  const env = { SELVEDGE_ACCESS_TOKEN: '' }
  afterEach(() => rmSync(inFolder('home'), { recursive: true, force: true }))

  it('go to the service that issued them, and to no other', async () => {
    store('https://id.example.com')
    for (const named of ['--identity-url', '--url']) {
      const ran = await run(folder.path, ['container', 'list', '--url', hostile.url, named, hostile.url], {
        env,
      })
      expect(ran.code).toBe(4)
    }
    expect(hostile.received.join('\n')).not.toMatch(/-refresh|-id\b/)
    const ran = await run(
      folder.path,
      ['token', 'access', '--url', hostile.url, '--identity-url', hostile.url],
      { env },
    )
    expect(ran.errors).toContain(`you are not signed in at ${hostile.url}, only at https://id.example.com`)

    store(hostile.url)
    await run(folder.path, ['token', 'access', '--url', hostile.url, '--identity-url', hostile.url], { env })
    expect(hostile.received.join('\n')).toContain(`${secret}-id`)
  })

  it('are not read from a file that others can read, nor through a symbolic link', async () => {
    const path = store(hostile.url, 0o644)
    const args = ['token', 'access', '--url', hostile.url, '--identity-url', hostile.url]
    expect(await run(folder.path, args, { env })).toMatchObject({
      code: 2,
      errors: expect.stringContaining(`chmod 600 ${path}`),
    })
    renameSync(path, `${path}.aside`)
    symlinkSync(`${path}.aside`, path)
    expect((await run(folder.path, args, { env })).errors).toContain('is a symbolic link')
  })
})

describe('a state folder that is named', () => {
  it('is used or nothing is: no other runtime takes its place', async () => {
    for (const [args, env] of [
      [['me', '--state', inFolder('nowhere')], {}],
      [['me'], { SELVEDGE_STATE: inFolder('nowhere') }],
      [['doctor'], { SELVEDGE_STATE: inFolder('nowhere') }],
      [['login'], { SELVEDGE_STATE: inFolder('nowhere') }],
      [['me', '--state', inFolder('nowhere')], { SELVEDGE_RUNTIME_URL: hostile.url }],
      [['admin', 'account', 'list', '--state', inFolder('nowhere')], {}],
    ] as const) {
      const ran = await run(folder.path, args, { env })
      expect({ args, code: ran.code }).toEqual({ args, code: 3 })
      expect(ran.errors).toContain(inFolder('nowhere'))
    }
    expect(hostile.received).toEqual([])
  })

  it('holds a socket that others could replace: it is not used', async () => {
    const shared = inFolder('shared')
    mkdirSync(shared)
    const own = await startRecorder({ at: join(shared, 'runtime.sock') })
    try {
      chmodSync(shared, 0o777)
      const ran = await run(folder.path, ['gps', 'show', '--state', shared])
      expect(ran).toMatchObject({ code: 2, errors: expect.stringContaining('other users can write to') })
      expect(own.received).toEqual([])
      chmodSync(shared, 0o700)
      expect((await run(folder.path, ['me', '--state', shared])).code).toBe(0)
    } finally {
      await own.close()
    }
  })

  it.skipIf(process.getuid?.() !== 0)(
    'of another user is asked nothing that carries a credential',
    async () => {
      const foreign = inFolder('foreign')
      mkdirSync(foreign, { mode: 0o755 })
      const other = await startRecorder({ at: join(foreign, 'runtime.sock'), names: hostile.url })
      try {
        chownSync(join(foreign, 'runtime.sock'), 65_534, 65_534)
        chownSync(foreign, 65_534, 65_534)
        const state = ['--state', foreign]
        const ran = await run(folder.path, ['gps', 'show', ...state])
        expect(ran).toMatchObject({ code: 2, errors: expect.stringContaining('belongs to user 65534') })
        const exchange = ['--developer-token-file', inFolder('developer'), '--client-id', 'x']
        expect(
          (
            await run(folder.path, ['token', 'access', ...exchange, ...state], {
              env: { SELVEDGE_API_KEY: '' },
            })
          ).errors,
        ).toContain(`--identity-url ${hostile.url}`)
        expect([...other.received, ...hostile.received].join('\n')).not.toContain(secret)
      } finally {
        await other.close()
      }
    },
  )

  it('keeps its API key for its own socket', async () => {
    const state = inFolder('keyed')
    mkdirSync(state, { mode: 0o700 })
    writeFileSync(join(state, 'api-key'), `${secret}-file`, { mode: 0o600 })
    const own = await startRecorder({ at: join(state, 'runtime.sock') })
    try {
      const env = { SELVEDGE_API_KEY: '' }
      await run(folder.path, ['me', '--state', state, '--url', hostile.url], { env })
      expect(hostile.received.join('\n')).not.toContain(`${secret}-file`)
      await run(folder.path, ['me', '--state', state], { env })
      expect(own.received.join('\n')).toContain(`Bearer ${secret}-file`)
    } finally {
      await own.close()
    }
  })
})
