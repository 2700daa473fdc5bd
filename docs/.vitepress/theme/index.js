import { onContentUpdated } from "vitepress";
import DefaultTheme from "vitepress/theme-without-fonts";
import "./paper.css";

export default {
  extends: DefaultTheme,
  // The theme's home page has no main landmark, by which screen readers find the content.
  setup: () => onContentUpdated(() => document.querySelector(".VPHome")?.setAttribute("role", "main")),
};
