/**
 * Plays the vectors against any server: `node tests/system/conformance/jsonrpc/run.ts http://127.0.0.1:8083`. Answers of getMe are
 * expected where a vector calls it. Exits with 1 where a vector fails.
 */
import { readFileSync } from 'node:fs'
import { matches } from './match.ts'
import { sendVector, type Vector } from './send.ts'
import { type SocketVector, sendSocketVector } from './send-websocket.ts'

const url = process.argv[2]
if (url === undefined) {
  process.stderr.write('usage: node tests/system/conformance/jsonrpc/run.ts <url of the server>\n')
  process.exit(2)
}
const counts = { passed: 0, failed: 0 }
for (const name of ['calls', 'http']) {
  const vectors: readonly Vector[] = JSON.parse(
    readFileSync(new URL(`${name}.json`, import.meta.url), 'utf8'),
  )
  for (const vector of vectors) {
    const { status, text } = await sendVector(url, vector).catch((cause: Error) => ({
      status: 0,
      text: cause.message,
    }))
    const isRight =
      status === vector.status && (vector.answer === undefined || matches(vector.answer, tryParse(text)))
    counts[isRight ? 'passed' : 'failed']++
    if (!isRight)
      process.stdout.write(`failed: ${name}: ${vector.name}: got ${status} ${text.slice(0, 200)}\n`)
  }
}
const sockets: readonly SocketVector[] = JSON.parse(
  readFileSync(new URL('websocket.json', import.meta.url), 'utf8'),
)
for (const vector of sockets) {
  const outcome = await sendSocketVector(url, vector)
  const { name, status = 101, close = 0, answers = [] } = vector
  const isRight = outcome.status === status && outcome.close === close && matches(answers, outcome.answers)
  counts[isRight ? 'passed' : 'failed']++
  if (!isRight)
    process.stdout.write(`failed: websocket: ${name}: got ${JSON.stringify(outcome).slice(0, 200)}\n`)
}
process.stdout.write(`${counts.passed} passed, ${counts.failed} failed\n`)
process.exitCode = counts.failed === 0 ? 0 : 1

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
