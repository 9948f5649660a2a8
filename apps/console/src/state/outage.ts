/** Whether the service can be reached, as the last call found it. What failed meanwhile is loaded again when it can. */
import { useEffect, useState } from 'preact/hooks'

const changed = 'selvedge:outage'
/** Milliseconds between two requests while the service does not answer. */
const probeIntervalMs = 5000

export interface Outage {
  isOn(): boolean
  /** The service did not answer. */
  begin(): void
  /** The service answered. */
  end(): void
  /** @param listener called when it begins and when it ends @returns how to stop */
  follow(listener: () => void): () => void
}

function createOutage(): Outage {
  let isOn = false
  const set = (next: boolean) => {
    if (isOn === next) return
    isOn = next
    dispatchEvent(new Event(changed))
  }
  return {
    isOn: () => isOn,
    begin: () => set(true),
    end: () => set(false),
    follow(listener) {
      addEventListener(changed, listener)
      return () => removeEventListener(changed, listener)
    },
  }
}

export const outage = createOutage()

/** @param probe sends some request to the service; called again and again while it does not answer */
export function useOutage(probe: () => Promise<unknown>): boolean {
  const [isOn, setOn] = useState(outage.isOn)
  useEffect(() => outage.follow(() => setOn(outage.isOn())), [])
  useEffect(() => {
    if (!isOn) return
    const timer = setInterval(() => void probe().catch(() => undefined), probeIntervalMs)
    return () => clearInterval(timer)
  }, [isOn])
  return isOn
}
