/** The theme that a person chose for this browser. Set before the first view, so that no page is shown in another one. */
import { useState } from 'preact/hooks'

export const themes = ['light', 'dark', ''] as const
/** Empty: as the system has it. */
export type Theme = (typeof themes)[number]

const storageKey = 'theme'

function readTheme(): Theme {
  try {
    const kept = localStorage.getItem(storageKey)
    return themes.find((each) => each === kept) ?? ''
  } catch {
    return ''
  }
}

function showTheme(theme: Theme): void {
  if (theme === '') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}

showTheme(readTheme())

export function useTheme(): [theme: Theme, choose: (theme: Theme) => void] {
  const [theme, setTheme] = useState(readTheme)
  const choose = (next: Theme) => {
    setTheme(next)
    showTheme(next)
    try {
      localStorage.setItem(storageKey, next)
    } catch {
      // Storage is off: the theme lasts as long as the page.
    }
  }
  return [theme, choose]
}
