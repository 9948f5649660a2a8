/** Metrics of the built daemons, read as Prometheus reads them, while callers send hostile names and numbers. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createIdentityClient, createRuntimeClient } from '@selvedge/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCli } from '../../harness/cli.ts'
import { type ConsoleSession, enterByLink, projectWith } from '../../harness/console.ts'
import { needs } from '../../harness/installed.ts'
import { post } from '../../harness/oauth.ts'
import { root, type Stack, startProgram, startStack, temporaryFolder } from '../../harness/processes.ts'
import { readMetrics as readMetricsOf } from '../../harness/read-metrics.ts'

const daemons = ['runtime', 'identity', 'discovery'] as const
type DaemonName = (typeof daemons)[number]

let stack: Stack
let sockets: { path: string; remove: () => Promise<void> }
let owner: ConsoleSession
const foreign: string[] = []

const socketOf = (name: DaemonName) => join(sockets.path, `${name}.sock`)

const readMetrics = (name: DaemonName) => readMetricsOf(socketOf(name))

/** The value of a series, by its name and labels as they are shown. */
const seriesValue = (text: string, series: string): number =>
  Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${series} `))
      ?.split(' ')[1] ?? Number.NaN,
  )

/** Values of labels that are in the metrics. */
const labelValues = (text: string): Set<string> =>
  new Set([...text.matchAll(/="((?:[^"\\]|\\.)*)"/g)].map(([, value]) => value!))

async function useAll(): Promise<void> {
  const { url, ready } = stack.identity
  owner = await enterByLink(url, ready.setup!, 'ada@example.com')
  await owner.api['password.set']({ password: 'three quiet herons at dusk' })
  const scopes = ['openid', 'edge:mcm', 'edge:clusters', 'edge:account:associate']
  const { clientId } = await owner.api['project.create'](projectWith({ scopes }))
  const { idToken } = await owner.api['token.create']({ clientId })
  const runtime = createRuntimeClient({ url: stack.runtime.url })
  const { id_token: edgeIdToken } = await runtime.getEdgeIdToken()
  const exchange = { clientId, developerIdToken: idToken, edgeIdToken, scope: scopes.join(' ') }
  const { access_token: edgeAccessToken } = await createIdentityClient({ url }).exchange(exchange)
  const { accountId } = await runtime.associateAccount({ edgeAccessToken })
  const signal = { longitude: '13.377775', latitude: '52.516213', speed: '0', bearing: '0' }
  await runtime.updateGps({ edgeAccessToken, ...signal })
  const { nodeId, name } = await runtime.getMe()
  foreign.push(nodeId, accountId, clientId, name, 'ada@example.com', '13.377', '52.516', idToken)
}

/** Names and reasons from the network, as labels would get them. */
async function beHostile(): Promise<void> {
  const json = { 'Content-Type': 'application/json' }
  const names = [
    '__proto__',
    'constructor',
    'x"} 1\nfake 1\n',
    ...Array.from({ length: 50 }, (_, at) => `m-${at}`),
  ]
  for (const method of names) {
    foreign.push(method)
    const body = JSON.stringify({ jsonrpc: '2.0', method, id: 1 })
    await (await fetch(`${stack.runtime.url}/jsonrpc/v1`, { method: 'POST', headers: json, body })).text()
    await post(`${stack.identity.url}/token`, { grant_type: method })
    for (const { url } of [stack.runtime, stack.identity, stack.discovery])
      await (
        await fetch(`${url}/stranger/${encodeURIComponent(method)}?${encodeURIComponent(method)}`)
      ).text()
  }
  await (await fetch(`${stack.discovery.url}/v1/fixes`, { method: 'POST', headers: json, body: '{}' })).text()
}

/** Values of labels that need a failure to appear. */
const neverSeen = ['5xx', 'failed', 'restarted']

const shown = {} as Record<DaemonName, string>

beforeAll(async () => {
  sockets = await temporaryFolder()
  const listen = (name: DaemonName) => [`--metrics.listen=${socketOf(name)}`]
  stack = await startStack({
    runtime: listen('runtime'),
    identity: listen('identity'),
    discovery: listen('discovery'),
  })
  await useAll()
  await beHostile()
  for (const name of daemons) shown[name] = await readMetrics(name)
})
afterAll(async () => {
  await stack.stop()
  await sockets.remove()
})

describe.each(daemons)('the metrics of the %s daemon', (name) => {
  it('hold no node, account, client, person, location or text of a caller', () => {
    const text = shown[name]
    expect(foreign.filter((each) => text.includes(each))).toEqual([])
    expect([...labelValues(text)].filter((value) => !/^[\w.:*/{}+-]{1,80}$/.test(value))).toEqual([])
  })

  it('have as many series after thousands of unknown names as before', async () => {
    const seriesOf = (text: string) => text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
    const before = seriesOf(shown[name]).length
    for (let at = 0; at < 500; at++) await (await fetch(`${stack[name].url}/s-${at}`)).text()
    expect(seriesOf(await readMetrics(name)).length - before).toBeLessThan(5)
  })

  it('pass "promtool check metrics"', needs('promtool'), () => {
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
      input: shown[name],
      encoding: 'utf8',
    })
    expect(`${stdout}${stderr}`).toBe('')
    expect(status).toBe(0)
  })

  it('show the process, its event loop and its store', () => {
    for (const series of [
      'process_start_time_seconds',
      'process_cpu_seconds_total',
      'process_resident_memory_bytes',
      'selvedge_memory_bytes{kind="heap"}',
      'selvedge_event_loop_busy_seconds_total',
      'selvedge_event_loop_delay_seconds{stat="p99"}',
      'selvedge_failures_total',
      'selvedge_unhandled_rejections_total',
    ])
      expect(seriesValue(shown[name], series), series).toBeGreaterThanOrEqual(0)
    expect(shown[name]).toMatch(
      /^selvedge_store_duration_seconds_count\{operation="\w+",outcome="ok"\} [1-9]/m,
    )
  })
})

describe('the reference of metrics', () => {
  const reference = readFileSync(join(root, 'docs/reference/metrics.md'), 'utf8')
  const sections = new Map(
    reference
      .split(/^## /m)
      .slice(1)
      .map((section) => [section.split('\n', 1)[0]!, section]),
  )
  /** Only while a collector is configured. */
  const exportOnly = 'selvedge_otel_dropped_total'

  it.each(daemons)('names every metric of the %s daemon with its type, and no other', (name) => {
    const shownTypes = [...shown[name].matchAll(/^# TYPE (\w+ \w+)$/gm)].map(([, type]) => type!)
    const documented = [...sections]
      .filter(
        ([metric, text]) => metric !== exportOnly && new RegExp(`^- Daemons: .*${name}`, 'm').test(text),
      )
      .map(([metric, text]) => `${metric} ${/^- Type: (\w+)$/m.exec(text)?.[1]}`)
    expect(documented.sort()).toEqual(shownTypes.sort())
  })

  it.each(daemons)('lists each label of the %s daemon with all its values', (name) => {
    const undocumented = [...shown[name].matchAll(/^(\w+?)(?:_bucket|_sum|_count)?\{(.*)\} /gm)].flatMap(
      ([, metric, labels]) =>
        [...labels!.matchAll(/(\w+)="([^"]*)"/g)]
          .filter(([, label]) => label !== 'le')
          .filter(([, label, value]) => {
            const lines = sections.get(metric!)?.match(new RegExp(`^- Label \`${label}\`.*$`, 'gm')) ?? []
            return !lines.some((line) => line.includes(`\`${value}\``))
          })
          .map(([pair]) => `${metric} ${pair}`),
    )
    expect(undocumented).toEqual([])
  })
})

describe('the dashboard and the alert rules', () => {
  const files = ['deploy/prometheus/rules.yaml', 'deploy/grafana/selvedge.json']

  it.each(files)('name metrics that the daemons have: %s', (file) => {
    const declared = new Set(
      Object.values(shown)
        .flatMap((text) => [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)])
        .flatMap(([, name, type]) =>
          type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name!],
        ),
    )
    const named = readFileSync(join(root, file), 'utf8').match(/\b(?:selvedge|process)_\w+/g) ?? []
    expect(named.length).toBeGreaterThan(10)
    expect(named.filter((name) => !declared.has(name))).toEqual([])
  })

  it('compare labels with values that exist', () => {
    const all = new Set(Object.values(shown).flatMap((text) => [...labelValues(text)]))
    const declared = new Set([...all, ...neverSeen])
    const rules = readFileSync(join(root, files[0]!), 'utf8')
    const compared = [...rules.matchAll(/\b(?:code|stat|outcome|endpoint|state|queue|event)="([^"]+)"/g)]
    expect(compared.length).toBeGreaterThan(5)
    expect(compared.map(([, value]) => value!).filter((value) => !declared.has(value))).toEqual([])
  })

  it('pass "promtool check rules"', needs('promtool'), () => {
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', join(root, files[0]!)], {
      encoding: 'utf8',
    })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toContain('SUCCESS: 18 rules found')
  })

  it(
    'are part of a configuration of Prometheus that passes "promtool check config"',
    needs('promtool'),
    () => {
      const config = join(root, 'deploy/prometheus/prometheus.yaml')
      const { status, stderr } = spawnSync('promtool', ['check', 'config', config], { encoding: 'utf8' })
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    },
  )
})

it('the runtime counts calls by method and outcome, unknown methods as "other"', () => {
  const calls = (method: string, outcome: string) =>
    seriesValue(shown.runtime, `selvedge_rpc_calls_total{method="${method}",outcome="${outcome}"}`)
  expect(calls('updateGps', 'ok')).toBe(1)
  expect(calls('associateAccount', 'ok')).toBe(1)
  expect(calls('other', 'method_not_found')).toBe(53)
  expect(seriesValue(shown.runtime, 'selvedge_rpc_call_duration_seconds_count{method="updateGps"}')).toBe(1)
})

it('the runtime shows its clock, its queues, its links and the age of its list of revoked tokens', () => {
  expect(seriesValue(shown.runtime, 'selvedge_clock_state{state="trusted"}')).toBe(1)
  expect(seriesValue(shown.runtime, 'selvedge_queue_length{queue="fixes"}')).toBe(0)
  expect(seriesValue(shown.runtime, 'selvedge_cloud_reachable{service="discovery"}')).toBe(1)
  expect(seriesValue(shown.runtime, 'selvedge_revocation_list_age_seconds')).toBeLessThan(120)
  expect(seriesValue(shown.runtime, 'selvedge_containers{state="running"}')).toBe(0)
  expect(seriesValue(shown.runtime, 'selvedge_fix_age_seconds')).toBeLessThan(120)
})

it('the identity service counts tokens that it issued and refused, by reason', () => {
  const text = shown.identity
  expect(seriesValue(text, 'selvedge_tokens_issued_total{grant="id_token_signin"}')).toBe(1)
  expect(seriesValue(text, 'selvedge_tokens_issued_total{grant="edge_id_token"}')).toBeGreaterThan(0)
  expect(
    seriesValue(text, 'selvedge_tokens_refused_total{endpoint="token",reason="unsupported_grant_type"}'),
  ).toBe(53)
  expect(seriesValue(text, 'selvedge_http_requests_total{route="/token",code="2xx"}')).toBe(1)
  expect(seriesValue(text, 'selvedge_http_requests_total{route="other",code="4xx"}')).toBeGreaterThanOrEqual(
    53,
  )
  expect(seriesValue(text, 'selvedge_replicas')).toBe(1)
})

it.each(['identity', 'discovery'] as const)(
  'the %s daemon shows its queues, and the age of its last backup',
  async (name) => {
    const age = (text: string) => seriesValue(text, 'selvedge_backup_age_seconds')
    for (const queue of {
      identity: ['tokens', 'store'],
      discovery: ['reports', 'signs_of_life', 'locations', 'store'],
    }[name])
      expect(
        seriesValue(shown[name], `selvedge_queue_length{queue="${queue}"}`),
        queue,
      ).toBeGreaterThanOrEqual(0)
    expect(age(shown[name])).toBeNaN()
    const file = join(sockets.path, `${name}.backup`)
    const env = { PATH: process.env.PATH!, SELVEDGE_STATE: stack.state }
    expect(await runCli(['admin', 'store', 'backup', file, '--service', name], env)).toMatchObject({
      code: 0,
    })
    await expect.poll(async () => age(await readMetrics(name))).toBeLessThan(120)
  },
)

it('the discovery service counts reports and sessions', () => {
  const text = shown.discovery
  expect(seriesValue(text, 'selvedge_reports_total{outcome="new"}')).toBe(1)
  expect(seriesValue(text, 'selvedge_reports_total{outcome="refused"}')).toBe(1)
  expect(seriesValue(text, 'selvedge_fixes_total')).toBe(1)
  expect(seriesValue(text, 'selvedge_node_sessions_total')).toBeGreaterThan(0)
  for (const operation of ['location_put', 'statement'])
    expect(
      seriesValue(text, `selvedge_store_duration_seconds_count{operation="${operation}",outcome="ok"}`),
    ).toBeGreaterThan(0)
  expect(seriesValue(text, 'selvedge_revocation_list_checked_seconds')).toBeLessThan(120)
})

it.each([
  ['no option', [], []],
  ['"metrics.listen"', ['--metrics.listen=127.0.0.1:0'], ['metrics']],
  ['"otel.endpoint"', ['--otel.endpoint=http://127.0.0.1:9'], ['metrics', 'otlp']],
])('with %s a daemon loads the code of metrics and OTLP only if it is needed', async (_, args, loaded) => {
  const folder = await temporaryFolder()
  const env = { SELVEDGE_STATE: folder.path, SELVEDGE_DISCOVERY_PORT: '0', NODE_DEBUG: 'module' }
  const program = await startProgram('discovery', env, args)
  try {
    expect((await fetch(`${program.url}/metrics`)).status).toBe(404)
    const found = ['metrics', 'otlp'].filter((code) => program.errors().includes(`${code}.lazy`))
    expect(found).toEqual(loaded)
  } finally {
    await program.stop()
    await folder.remove()
  }
})

it.each([
  ['0.0.0.0:9464', 78],
  ['127.0.0.1:99999', 78],
  ['metrics.sock', 78],
])('a daemon with "metrics.listen" %s does not start, and names the option', async (listen, code) => {
  const folder = await temporaryFolder()
  const env = { SELVEDGE_STATE: folder.path, SELVEDGE_DISCOVERY_PORT: '0' }
  const failed = await startProgram('discovery', env, [`--metrics.listen=${listen}`]).catch((cause) => cause)
  await folder.remove()
  expect(failed).toMatchObject({ code, message: expect.stringContaining('option "metrics.listen"') })
})

it('a daemon ends with 1 and one sentence if the port of metrics is in use', async () => {
  const folder = await temporaryFolder()
  const env = { SELVEDGE_STATE: folder.path, SELVEDGE_DISCOVERY_PORT: '0' }
  const { port } = new URL(stack.discovery.url)
  const failed = await startProgram('discovery', env, [`--metrics.listen=127.0.0.1:${port}`]).catch(
    (cause) => cause,
  )
  await folder.remove()
  expect(failed.code).toBe(1)
  expect(failed.message).toContain(
    `error: discovery did not start: port ${port} is in use by another program; stop it or choose another port with option "metrics.listen"`,
  )
})
