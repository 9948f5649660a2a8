/** What the process that bundles receives and sends. */
import type { Bundled } from './bundle.ts'
import type { BuildLimits } from './limits.ts'
import type { Problem } from './problem.ts'

export interface BuildRequest {
  readonly folder: string
  readonly entry: string
  readonly limits: BuildLimits
}

export type BuildAnswer =
  | { readonly bundled: Bundled }
  | { readonly problem: Problem }
  /** This installation has no bundler. */
  | { readonly missing: string }

/** Exit code of a process that needed more memory than allowed. */
export const exitOutOfMemory = 75
