import { useLocalStorage } from "@mantine/hooks";
import { createContext, type ReactNode, useContext } from "react";
import type { Mode } from "../api/wallet.ts";

const storageKey = "pennyblack.mode";

const ModeContext = createContext<{ mode: Mode; setMode: (mode: Mode) => void } | undefined>(undefined);

/** Live or test mode, saved in the browser. */
export function ModeProvider({ children }: { children: ReactNode }) {
  const [mode, setMode] = useLocalStorage<Mode>({
    key: storageKey,
    defaultValue: "live",
    getInitialValueInEffect: false,
  });
  return <ModeContext value={{ mode: mode === "test" ? "test" : "live", setMode }}>{children}</ModeContext>;
}

/** Sets the mode from a page outside the provider. */
export function saveMode(mode: Mode): void {
  localStorage.setItem(storageKey, JSON.stringify(mode));
}

export function useMode() {
  const context = useContext(ModeContext);
  if (!context) throw new Error("useMode requires ModeProvider");
  return context;
}
