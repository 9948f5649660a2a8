/** The body of `POST /mcm/v1/apps`: the plan of an app, or the parameters of deployApp by their names. */
import type { IncomingMessage } from 'node:http'
import { maxAppBodyBytes, methods, RpcError } from '@selvedge/protocol'
import * as z from 'zod'
import { readJsonBody } from './read-json-body.ts'

const [, plan, secrets, pulls, deployment] = methods.deployApp.params
const body = z.strictObject({
  plan: plan.schema,
  secrets: secrets.schema,
  pulls: pulls.schema,
  deployment: deployment.schema,
})
const expected = Object.fromEntries(
  [plan, secrets, pulls, deployment].map((each) => [each.name, each.expected]),
)

/** @throws RpcError `limit_exceeded`; `invalid_params` with the path of the first wrong value */
export async function readDeployment(request: IncomingMessage): Promise<z.output<typeof body>> {
  const json = await readJsonBody(request, maxAppBodyBytes)
  const isNamed = typeof json === 'object' && json !== null && Object.hasOwn(json, 'plan')
  const read = body.safeParse(isNamed ? json : { plan: json })
  if (read.success) return read.data
  const [issue] = read.error.issues
  const [member, ...inside] = issue?.path ?? []
  const path = (isNamed ? (issue?.path ?? []) : inside).join('.').slice(0, 200) || 'the plan'
  throw new RpcError(
    'invalid_params',
    `${path}: ${issue?.message}; expected ${expected[String(member)] ?? plan.expected}`,
  )
}
