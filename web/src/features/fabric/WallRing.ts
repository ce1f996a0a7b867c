// The ring with the style of its page, for home on a wall.
import "./fabric.css";

export { RingView } from "./RingView";
