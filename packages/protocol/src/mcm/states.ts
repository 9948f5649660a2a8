/** The states of a container. The API, the command line, the console and the documentation describe them with this table. */

interface StateDescription {
  readonly meaning: string
  /** Whether the service answers requests. */
  readonly isServing: boolean
}

const states = {
  created: { meaning: 'it was deployed and has not started', isServing: false },
  running: { meaning: 'an instance answers requests', isServing: true },
  starting: {
    meaning: 'an instance starts, or starts again by itself after it exited',
    isServing: false,
  },
  paused: { meaning: 'no instance runs; the next request starts one and waits for it', isServing: true },
  stopped: { meaning: 'its owner stopped it; it stays stopped over restarts', isServing: false },
  completed: {
    meaning: 'it ran once to its end, with exit code 0; it does not start again',
    isServing: false,
  },
  failed: { meaning: 'it exited six times in a row; start it or deploy it again', isServing: false },
  removing: { meaning: 'it is being removed', isServing: false },
} as const satisfies Record<string, StateDescription>

export type ContainerState = keyof typeof states
export const containerStates = Object.keys(states) as [ContainerState, ...ContainerState[]]

/** @param state may come from a newer runtime: an unknown one has no meaning */
export const describeState = (state: string): StateDescription =>
  Object.hasOwn(states, state) ? states[state as ContainerState] : { meaning: '', isServing: false }

/** How many services are in each state, the most frequent state first: such as `2 running, 1 paused`; "" without services. */
export function countStates(services: readonly { readonly state: string }[]): string {
  const counts = new Map<string, number>()
  for (const { state } of services) counts.set(state, (counts.get(state) ?? 0) + 1)
  return [...counts]
    .sort(([, one], [, other]) => other - one)
    .map(([state, count]) => `${count} ${state}`)
    .join(', ')
}
