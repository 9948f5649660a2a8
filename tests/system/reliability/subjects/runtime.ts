/** A runtime that moves, deploys and counts, and what of it was acknowledged. */
import { functionImage, writeFile } from '../../../harness/archives.ts'
import type { Services } from '../../../harness/services.ts'
import { attempt, type Step, type Subject } from './subject.ts'

const counter = `mimikModule.exports = (context, request, response) => {
  const n = Number(context.storage.getItem('n') || 0) + (request.method === 'POST' ? 1 : 0)
  if (request.method === 'POST') context.storage.setItem('n', String(n))
  response.end(String(n))
}`
const trial = (version: number) => `export default { fetch: () => new Response('${version}') }`

export interface RuntimeSubject extends Subject {
  /** One increment more, beside the work. */
  increment(): Promise<Step>
}

export async function runtimeSubject(services: Services): Promise<RuntimeSubject> {
  const { token: edgeAccessToken } = services
  const { id: image } = await services.deployImage(functionImage(counter, 'counter'))
  const redeploy = (round: number) =>
    services.runtime().deployContainer({
      edgeAccessToken,
      spec: { name: 'counter', image, env: { ROUND: String(round) } },
    })
  const { basePath } = await redeploy(0)
  const trialPath = `/${services.developer.clientId}/trial`
  let pid = services.runtimePid()
  let speed = 0
  let acknowledgedSpeed = 0
  /** Every acknowledged increment gave a number that no other one gave. */
  const counts = new Set<number>()
  let count = 0
  const repeated: number[] = []
  let version: number | undefined
  /** Versions that may be there, where the last answer was a refusal. */
  let possible: (number | undefined)[] = []

  async function increment(): Promise<void> {
    const { status, text } = await services.call(basePath, { method: 'POST', body: '' })
    if (status !== 200) throw Object.assign(new Error(text), { reason: reasonOf(status, text) })
    const given = Number(text)
    if (counts.has(given)) repeated.push(given)
    counts.add(given)
    count = Math.max(count, given)
  }
  async function move(): Promise<void> {
    const next = ++speed
    const fix = { longitude: '1', latitude: '2', speed: String(next), bearing: '0' }
    await services.runtime().updateGps({ edgeAccessToken, ...fix })
    acknowledgedSpeed = next
  }
  async function deploy(next: number): Promise<void> {
    const source = writeFile(
      `${services.stack.state}/archives`,
      'trial.tar',
      functionImage(trial(next), 'trial'),
    )
    possible.push(next)
    const { id } = await services.runtime().deployImage({ edgeAccessToken, source })
    await services.runtime().deployContainer({ edgeAccessToken, spec: { name: 'trial', image: id, env: {} } })
    version = next
    possible = [next]
  }
  async function keepSecret(round: number): Promise<void> {
    await services.runtime().setSecret({ edgeAccessToken, name: 'db', value: `value of round ${round}` })
  }
  async function remove(): Promise<void> {
    possible.push(undefined)
    await services.runtime().removeContainer({ edgeAccessToken, id: 'trial' })
    version = undefined
    possible = [undefined]
  }

  async function missing(): Promise<string[]> {
    const failures = repeated.splice(0).map((each) => `two increments were answered with ${each}`)
    const now = await services.call(basePath)
    if (now.status !== 200 || Number(now.text) < count)
      failures.push(`the counter is at ${now.status} ${now.text}, and ${count} was acknowledged`)
    if (acknowledgedSpeed > 0) {
      const { speed: found } = await services.runtime().getGps({ edgeAccessToken })
      if (Number(found) < acknowledgedSpeed) failures.push(`the speed is ${found}, not ${acknowledgedSpeed}`)
    }
    const { status, text } = await services.call(trialPath)
    const found = status === 404 ? undefined : Number(text)
    if (![version, ...possible].includes(found))
      failures.push(`the trial answers ${status} ${text}, and is ${version} (${possible.join(', ')})`)
    version = found
    possible = []
    return failures
  }

  return {
    async work(round) {
      const steps: Step[] = [
        await attempt('a secret', () => keepSecret(round)),
        await attempt('a fix', move),
        await attempt('an increment', increment),
        await attempt('an increment', increment),
        await attempt('a deployment', () => deploy(round)),
        await attempt('a redeployment', () => redeploy(round)),
      ]
      if (version !== undefined && round % 3 === 0) steps.push(await attempt('a removal', remove))
      return [...steps, await attempt('an increment', increment)]
    },
    isRunning: () => services.runtimePid() === pid && isAlive(pid),
    async restart() {
      await services.restart('SIGKILL')
      pid = services.runtimePid()
    },
    missing,
    errors: services.runtimeErrors,
    increment: () => attempt('an increment', increment),
  }
}

function reasonOf(status: number, text: string): string {
  try {
    return JSON.parse(text).error.reason ?? `HTTP ${status}`
  } catch {
    return `HTTP ${status}`
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
