/** The body of `POST /mcm/v1/apps`: the plan of an app. */
import type { IncomingMessage } from 'node:http'
import { type AppPlan, appPlan, maxAppBodyBytes, methods, RpcError } from '@selvedge/protocol'
import { readJsonBody } from './read-json-body.ts'

/** @throws RpcError `limit_exceeded`; `invalid_params` with the path of the first wrong value */
export async function readPlan(request: IncomingMessage): Promise<AppPlan> {
  const read = appPlan.safeParse(await readJsonBody(request, maxAppBodyBytes))
  if (read.success) return read.data
  const [issue] = read.error.issues
  const path = issue?.path.join('.').slice(0, 200) || 'the plan'
  throw new RpcError(
    'invalid_params',
    `${path}: ${issue?.message}; expected ${methods.deployApp.params[1].expected}`,
  )
}
