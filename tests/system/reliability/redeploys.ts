/** Redeploys of a counter while callers count: every answer is an acknowledged increment, and none may be lost or given twice. */
import { readFileSync } from 'node:fs'
import { functionImage } from '../../harness/archives.ts'
import type { Services } from '../../harness/services.ts'

const wasm = readFileSync(new URL('../services/counter.wasm', import.meta.url))
const handler = `mimikModule.exports = (context, request, response) => {
  const n = Number(context.storage.getItem('n') || 0) + 1
  context.storage.setItem('n', String(n))
  response.end(String(n))
}`
const worker = `export default { async fetch(request, env, { storage }) {
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 20))
  const n = Number(storage.getItem('n') ?? 0) + 1
  storage.setItem('n', String(n))
  return new Response(String(n))
} }`

/** Counters of every kind of function: one that answers at once, one that takes a while, and a WASM program. */
export const counters = {
  handler: functionImage(handler, 'counter-handler'),
  worker: functionImage(worker, 'counter-worker'),
  wasm: functionImage(wasm, 'counter-wasm', 'index.wasm'),
} as const

export interface Counted {
  /** Increments that were answered with 200. */
  readonly acknowledged: number
  /** Answers that another answer had given before: an increment that undid another one. */
  readonly repeated: number
  /** Acknowledged increments that the counter does not have in the end. */
  readonly lost: number
  /** Other answers, by what they were. */
  readonly refused: Readonly<Record<string, number>>
}

/** @param rounds redeploys, one after the other, while four callers count without a pause */
export async function countThroughRedeploys(
  services: Services,
  kind: keyof typeof counters,
  rounds: number,
): Promise<Counted> {
  const { id: image } = await services.deployImage(counters[kind])
  const name = `counter-${kind}`
  const deploy = (round: number) =>
    services.runtime().deployContainer({
      edgeAccessToken: services.token,
      spec: { name, image, env: { ROUND: String(round) } },
    })
  const { basePath } = await deploy(0)
  const acknowledged: number[] = []
  const refused: Record<string, number> = {}
  let isOver = false

  const countOn = async (): Promise<void> => {
    while (!isOver) {
      const { status, text } = await services
        .call(basePath, { method: 'POST', body: '' })
        .catch((cause: Error) => ({ status: 0, text: cause.message }))
      if (status === 200) acknowledged.push(Number(text))
      else refused[`${status} ${text.slice(0, 200)}`] = (refused[`${status} ${text.slice(0, 200)}`] ?? 0) + 1
    }
  }
  const counting = Promise.all(Array.from({ length: 4 }, countOn))
  for (let round = 1; round <= rounds; round++) await deploy(round)
  isOver = true
  await counting
  const { text } = await services.call(basePath, { method: 'POST', body: '' })
  return {
    acknowledged: acknowledged.length,
    repeated: acknowledged.length - new Set(acknowledged).size,
    lost: Math.max(0, acknowledged.length - (Number(text) - 1)),
    refused,
  }
}
