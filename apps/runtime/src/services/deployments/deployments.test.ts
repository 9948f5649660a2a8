import { expect, it } from 'vitest'
import { type Deployments, kindsInUse } from './deployments.ts'

const container = (digest: string, wanted: 'running' | 'stopped', failed: string | null) => ({
  digest,
  wanted,
  failed,
})
const documentOf = (...containers: ReturnType<typeof container>[]) =>
  ({
    contents: { 'sha256:f': { kind: 'function' }, 'sha256:o': { kind: 'oci' } },
    containers: Object.fromEntries(containers.entries()),
  }) as unknown as Deployments

it('the engines in use are those of containers that should run, each once', () => {
  const running = container('sha256:f', 'running', null)
  expect(kindsInUse(documentOf(running, running, container('sha256:o', 'running', null)))).toEqual([
    'function',
    'oci',
  ])
})

it('a container that was stopped, or has failed, needs no engine, so it prevents no upgrade', () => {
  const [stopped, failed] = [
    container('sha256:o', 'stopped', null),
    container('sha256:o', 'running', 'it crashed'),
  ]
  expect(kindsInUse(documentOf(stopped, failed))).toEqual([])
})
