/** The colours of the map, from the tokens of the pages: a canvas does not follow them by itself. */

const roles = ['land', 'sea', 'edge', 'soft', 'accent'] as const

export type Palette = Readonly<Record<(typeof roles)[number], string>>

/** The tokens as the element has them now, resolved: a token may hold one colour for each theme. */
export function paletteOf(element: HTMLElement): Palette {
  const probe = element.appendChild(document.createElement('span'))
  const colours = roles.map((role) => {
    probe.style.color = `var(--${role})`
    return [role, getComputedStyle(probe).color] as const
  })
  probe.remove()
  return Object.fromEntries(colours) as Palette
}

/** Calls back when the theme of the page or of the system changes. Returns how to stop. */
export function followTheme(changed: () => void): () => void {
  const system = matchMedia('(prefers-color-scheme: dark)')
  const page = new MutationObserver(changed)
  page.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  system.addEventListener('change', changed)
  return () => {
    page.disconnect()
    system.removeEventListener('change', changed)
  }
}
