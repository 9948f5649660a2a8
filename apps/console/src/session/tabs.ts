/** The tabs of this browser share one session. When one tab changes it, the others follow. */
export interface Tabs {
  /** Notifies the other tabs that a person signed in or out, or changed the account, in this tab. */
  announce(): void
  /** @param changed called when another tab announced it. @returns ends the calls */
  follow(changed: () => void): () => void
}

export const tabs: Tabs = createTabs()

function createTabs(): Tabs {
  const channel = new BroadcastChannel('selvedge:session')
  return {
    announce: () => channel.postMessage('changed'),
    follow(changed) {
      channel.addEventListener('message', changed)
      return () => channel.removeEventListener('message', changed)
    },
  }
}
