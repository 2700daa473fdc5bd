import DefaultTheme from "vitepress/theme-without-fonts";
import "./paper.css";

export default DefaultTheme;
