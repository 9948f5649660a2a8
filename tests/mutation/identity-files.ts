/** Groups of `files.ts`: what the identity service stores, and what decides from it. */
import type { Group } from './group.ts'

export const identityGroups: readonly Group[] = []
